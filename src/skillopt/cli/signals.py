"""What ends a command from outside: Ctrl-C, the end of its terminal, and whoever stops processes.

The first signal asks the work to end in order (`interruption.py`). A second Ctrl-C ends the process at once, and so
does the clock if the work does not end. What is recorded survives either.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NoReturn

from skillopt.cli.terminal import say
from skillopt.interruption import GRACE_SECONDS, Interruption
from skillopt.text_files import plain

MOST_SECONDS = GRACE_SECONDS + 10.0
"""Seconds after the first signal in which the process has ended, whatever holds it up, such as code of a user's."""

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")
_SHOW_CURSOR = b"\x1b[?25h\r\n"


@contextmanager
def ending_in_order() -> Generator[Interruption]:
    """Let signals ask what runs in the block to end in order.

    A signal that is ignored when the block begins, as under `nohup`, stays ignored. Only the main thread can have
    signals; in another one the block runs as it is.
    """
    interruption = Interruption(told=lambda text: say(plain(text), stderr=True))
    clock: list[threading.Timer] = []

    def handle(number: int, _: FrameType | None) -> None:
        if interruption.asked:
            if number == signal.SIGINT:
                end_at_once(number)
            return
        name = signal.Signals(number).name
        interruption.ask(f"interrupted ({name})", exit_code=128 + number)
        # A thread, since what holds up the end may hold up the event loop.
        clock.append(threading.Timer(MOST_SECONDS, end_at_once, (number,)))
        clock[0].daemon = True
        clock[0].start()

    before = _handle(handle) if threading.current_thread() is threading.main_thread() else {}
    try:
        with interruption.in_context():
            yield interruption
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for timer in clock:
            timer.cancel()


def end_at_once(number: int) -> NoReturn:
    """End the process here and now: no buffer is written, nothing is waited for; the evidence needs none of it."""
    for descriptor, text in ((1, _SHOW_CURSOR if sys.stdout.isatty() else b""), (2, b"ended at once\n")):
        try:
            os.write(descriptor, text)
        except OSError:
            continue  # Nobody can be told.
    os._exit(128 + number)


def _handle(handler: Callable[[int, FrameType | None], None]) -> dict[int, Any]:
    """Set a handler where a signal is not ignored; return the handlers before."""
    before: dict[int, Any] = {}
    for name in _SIGNALS:
        number = getattr(signal, name, None)  # Windows has no SIGHUP.
        if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
            before[number] = signal.signal(number, handler)
    return before
