"""What the tests of this directory share: the bench."""

from tests.support.bench import open_bench

__all__ = ["open_bench"]
