"""What all tests share: reproducible properties, and the real-model tests that wait for their weights."""

from __future__ import annotations

from hypothesis import settings

from tests.support.bench import open_bench

__all__ = ["open_bench"]

# The same examples every time: a red test is red for everyone, and no deadline reads the clock of a busy machine.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")
