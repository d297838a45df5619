"""The difference of two texts, line by line, as the commands show it."""

from __future__ import annotations

import difflib
import sys

from skillopt.cli.terminal import say, say_unbroken
from skillopt.text_files import plain

_STYLES = {"+": "green", "-": "red", "@": "cyan"}


def show_text_difference(
    before: str, after: str, *, names: tuple[str, str], most: int = sys.maxsize, whole: str = ""
) -> None:
    """Print a unified diff; nothing where the texts are equal.

    Args:
        before: A text; hostile, it is shown as text.
        after: Another one.
        names: What they are called.
        most: Lines that are shown at most.
        whole: Where the rest can be read, after that many.
    """
    lines = list(difflib.unified_diff(plain(before).splitlines(), plain(after).splitlines(), *names, lineterm=""))
    for line in lines[:most]:
        say_unbroken(line, style=_STYLES.get(line[:1], ""))
    if len(lines) > most:
        say(f"... {len(lines) - most} more lines; {whole}")
    if lines:
        say("")
