"""Signals, in this process where that is safe; tests/e2e/test_signals.py sends them to processes of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading

import pytest

from skillopt.cli.signals import MOST_SECONDS, ending_in_order
from skillopt.errors import Interrupted
from skillopt.interruption import GRACE_SECONDS, interruptible


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_ends_what_runs_with_its_name_and_code(name: str) -> None:
    number = getattr(signal, name)

    async def work() -> None:
        async with interruptible():
            os.kill(os.getpid(), number)
            await asyncio.Event().wait()

    with ending_in_order() as interruption, pytest.raises(Interrupted, match=rf"interrupted \({name}\)"):
        asyncio.run(work())
    assert interruption.exit_code == 128 + number


def test_the_handlers_of_the_program_are_put_back() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with ending_in_order():
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] != before
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As under nohup, and for Ctrl-C in what a shell runs in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ending_in_order() as interruption:
            os.kill(os.getpid(), signal.SIGINT)
        assert not interruption.asked
    finally:
        signal.signal(signal.SIGINT, before)


def test_in_another_thread_it_runs_as_it_is() -> None:
    entered: list[bool] = []

    def work() -> None:
        with ending_in_order() as interruption:
            entered.append(interruption.asked)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert entered == [False]


def test_the_clock_ends_what_holds_up_the_event_loop() -> None:
    """Code of a user's that never returns lets no handler of the loop run."""
    program = """
import asyncio, os, signal, sys, threading
from skillopt.cli import signals
from skillopt.interruption import interruptible
signals.MOST_SECONDS = 0.1
async def work():
    async with interruptible():
        os.kill(os.getpid(), signal.SIGTERM)
        threading.Event().wait()
with signals.ending_in_order():
    asyncio.run(work())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "ended at once\n")


def test_the_clock_leaves_time_for_the_grace() -> None:
    assert GRACE_SECONDS < MOST_SECONDS <= 15
