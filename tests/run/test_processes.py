"""Processes that were noted, and whether they are still the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.support.commands import child

from skillopt.run.processes import beginning, is_running

linux = pytest.mark.skipif(sys.platform != "linux", reason="the system does not say when a process began")


def test_this_process_is_at_work_also_where_nobody_knows_when_it_began() -> None:
    assert is_running(os.getpid(), began=beginning(os.getpid()))
    assert is_running(os.getpid(), began="")


@linux
def test_a_process_of_the_same_number_that_began_at_another_time_is_another_one() -> None:
    boot, ticks = beginning(os.getpid()).split()
    assert not is_running(os.getpid(), began=f"{boot} {int(ticks) - 1}")
    assert not is_running(os.getpid(), began=f"another-start-of-the-machine {ticks}")


@linux
def test_a_process_whose_name_looks_like_what_the_system_says_of_it_is_understood() -> None:
    name = "import ctypes, sys; ctypes.CDLL(None).prctl(15, b') Z 1 (', 0, 0, 0); print(flush=True); sys.stdin.read()"
    with child([sys.executable, "-c", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as named:
        assert named.stdout is not None and named.stdout.readline()
        assert is_running(named.pid, began=beginning(named.pid))


@linux
def test_a_process_that_has_ended_and_was_not_asked_how_is_not_at_work() -> None:
    """Such as a training that a notebook has killed and forgotten."""
    with child([sys.executable, "-c", ""]) as ended:
        began = beginning(ended.pid)
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        assert not is_running(ended.pid, began=began)
        assert not is_running(ended.pid, began="")


@pytest.mark.parametrize("process", [10**30, 2**31, 2**31 - 1, 0, -1, 1.5, "7", None, [1]])
def test_what_is_no_number_of_a_process_is_not_at_work(process: object) -> None:
    assert not is_running(process, began="")


def test_nothing_is_known_of_a_process_that_is_not_there() -> None:
    assert beginning(2**31 - 1) == ""
