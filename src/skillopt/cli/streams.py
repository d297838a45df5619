"""Standard output and error as they are: what they can show, and whether a person watches. Loads nothing heavy."""

from __future__ import annotations

import os
import sys
from typing import IO, Any


def is_live(*, stderr: bool = False) -> bool:
    """Whether a stream is a terminal that can be written over.

    The stream itself is asked: a variable that forces colour into a log does not make the log a terminal.
    """
    stream = sys.stderr if stderr else sys.stdout
    return stream.isatty() and os.environ.get("TERM", "") not in ("dumb", "unknown")


def replace_what_cannot_be_shown() -> None:
    """Let a terminal that lacks a character show a question mark; nothing stops because of it."""
    _reconfigure(errors="replace")


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
