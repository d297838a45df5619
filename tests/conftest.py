"""What all tests share: reproducible properties, and the real-model tests that wait for their weights."""

from __future__ import annotations

import importlib.util
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from tests.support.bench import open_bench
from tests.support.eventful import eventful

from skillopt.models.weights import KNOWN, cache_directory

__all__ = ["eventful", "open_bench"]

# The same examples every time: a red test is red for everyone, and no deadline reads the clock of a busy machine.
settings.register_profile("repeatable", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("repeatable")


# Whoever starts the tests in the background, or by `nohup`, has them, and all that they start, ignore these.
for number, handler in ((signal.SIGINT, signal.default_int_handler), (getattr(signal, "SIGHUP", None), signal.SIG_DFL)):
    if number is not None and signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# A run waits for the disk hundreds of times, longer than it computes, and no test can see whether a disk was waited
# for. So what is temporary lies in memory where a machine has room for it there; pytest's --basetemp and TMPDIR win.
MEMORY, ROOM = Path("/dev/shm"), 4 * 2**30
if (
    sys.platform == "linux"
    and "TMPDIR" not in os.environ
    and os.access(MEMORY, os.W_OK)
    and not os.statvfs(MEMORY).f_flag & os.ST_NOEXEC  # where no program can be started, such as in a container
    and shutil.disk_usage(MEMORY).free >= ROOM
):
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)  # for child processes, and for this one


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave the tests of the real model out where its engine or its weights are not there; they are never fetched."""
    weights = KNOWN["qwen2.5-coder-0.5b"]
    if importlib.util.find_spec("xllamacpp") is None:
        reason = "the extra [local] is not installed"
    elif not (cache_directory(os.environ) / weights.file_name).is_file():
        reason = f"no weights; fetch them by: skillopt models fetch {weights.name}"
    else:
        return
    for item in items:
        if item.get_closest_marker("local_model"):
            item.add_marker(pytest.mark.skip(reason=reason))
