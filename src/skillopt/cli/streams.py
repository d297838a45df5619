"""Standard output and error as they are: what they can show, and whether a person watches. Loads nothing heavy."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from typing import IO, Any, cast


def is_live(*, stderr: bool = False) -> bool:
    """Whether a stream is a terminal that can be written over.

    The stream itself is asked: a variable that forces colour into a log does not make the log a terminal.
    """
    stream = sys.stderr if stderr else sys.stdout
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def replace_what_cannot_be_shown() -> None:
    """Let a terminal that lacks a character show a question mark; nothing stops because of it."""
    _reconfigure(errors="replace")


def stay_open() -> None:
    """Keep standard output and error open, whoever closes them: code of the user's runs in this process."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            cast("Any", stream).close = _nothing


@contextlib.contextmanager
def apart() -> Generator[IO[str]]:
    """Return a stream that gets to standard output alone; all else that is printed in the block goes to standard error.

    That holds for what the user's code prints, for the libraries it loads and for the processes it starts.
    """
    shared = sys.stdout
    try:
        number, aside = shared.fileno(), sys.stderr.fileno()
    except (OSError, ValueError):  # They are no files of the system, so that only what Python prints can be told apart.
        with contextlib.redirect_stdout(sys.stderr):
            yield shared
        return
    shared.flush()
    with os.fdopen(os.dup(number), "w", encoding=shared.encoding, errors="replace") as own:
        os.dup2(aside, number)
        try:
            yield own
        finally:
            with contextlib.suppress(OSError):  # Nobody reads it.
                shared.flush()
            os.dup2(own.fileno(), number)


def discard(stream: IO[str]) -> None:
    """Send what a stream still gets nowhere, since its reader has gone: who only watches must not end a training."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _reconfigure(**settings: str) -> None:
    """Change how standard output encodes, where it is a stream that can be changed."""
    change: Any = getattr(sys.stdout, "reconfigure", None)
    if change is not None:
        change(**settings)


def _nothing() -> None:
    """Do nothing."""
