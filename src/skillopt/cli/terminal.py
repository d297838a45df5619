"""The terminal, and how text from elsewhere is made safe for it."""

from __future__ import annotations

import unicodedata

from rich.console import Console


def console(*, stderr: bool = False) -> Console:
    """Return a console that writes to standard output or standard error, without colour where there is none."""
    return Console(stderr=stderr, soft_wrap=False)


def plain(text: str) -> str:
    """Return text from a task, a model or a file without control characters: it moves no cursor and sets no colour."""
    return "".join(
        char if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs") else "�" for char in text
    )
