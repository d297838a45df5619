"""Standard output and error as they are: what they can show, whether a person watches, and what they cannot take.

Who only watches must not end a training: output that cannot be delivered is lost, and the command goes on. Loads
nothing heavy.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, cast


def is_live(*, stderr: bool = False) -> bool:
    """Whether a stream is a terminal that can be written over.

    The stream itself is asked: a variable that forces colour into a log does not make the log a terminal.
    """
    stream = sys.stderr if stderr else sys.stdout
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


class EnduringStream:
    """A stream that goes on, into nowhere, once what it gets cannot be delivered.

    Args:
        stream: The stream behind it.

    Attributes:
        lost: Why output was lost; None while none was, or where its reader has gone, who wants no more of it.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self.lost: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a text, or lose it."""
        try:
            return self._stream.write(text)
        except OSError as error:
            self._give_up(error)
            return len(text)

    def flush(self) -> None:
        """Deliver what was written, or lose it."""
        try:
            self._stream.flush()
        except OSError as error:
            self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        if not isinstance(error, BrokenPipeError):
            self.lost = self.lost or error
        # What is still in the stream's buffer goes the same way.
        with Path(os.devnull).open("wb") as nowhere:
            os.dup2(nowhere.fileno(), self._stream.fileno())


def stay_open() -> None:
    """Keep standard output and error open, whoever closes them: code of the user's runs in this process."""
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            cast("Any", stream).close = _nothing


@contextmanager
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
        ours = EnduringStream(own)
        try:
            yield cast("IO[str]", ours)
        finally:
            with contextlib.suppress(OSError):  # Nobody reads it.
                shared.flush()
            ours.flush()
            os.dup2(own.fileno(), number)
            if isinstance(shared, EnduringStream):
                shared.lost = shared.lost or ours.lost


@contextmanager
def enduring_output() -> Generator[EnduringStream]:
    """Keep writing from ending a command, for the length of the block; yields standard output.

    A terminal that lacks a character gets a question mark. A stream that was closed before the start is one that
    leads nowhere, so that no file is opened in its place and written into by whoever prints.
    """
    _open_what_is_closed()
    out, error = sys.stdout, sys.stderr
    change: Any = getattr(out, "reconfigure", None)
    if change is not None:
        change(errors="replace")
    ours = EnduringStream(out)
    sys.stdout, sys.stderr = ours, EnduringStream(error)  # type: ignore[assignment]
    try:
        yield ours
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = out, error


def _open_what_is_closed() -> None:
    descriptor = os.open(os.devnull, os.O_RDWR)
    while descriptor <= 2:  # The lowest number that is free: it takes the place of the stream that is missing.
        descriptor = os.dup(descriptor)
    os.close(descriptor)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123 - it lives on


def _nothing() -> None:
    """Do nothing."""
