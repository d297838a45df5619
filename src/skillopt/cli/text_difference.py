"""The difference of two texts as the commands show it: the lines that the pages show, as a unified diff."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby

from skillopt.cli.terminal import say, say_unbroken
from skillopt.report.text_diff import DiffLine, diff
from skillopt.text_files import plain

_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_SIGNS = {"same": " ", "added": "+", "removed": "-"}


def show_text_difference(
    before: str, after: str, *, names: tuple[str, str], most: int = sys.maxsize, whole: str = ""
) -> None:
    """Print a unified diff; nothing where no line differs.

    Args:
        before: A text; hostile, it is shown as text.
        after: Another one.
        names: What they are called.
        most: Lines that are shown at most.
        whole: Where the rest can be read, after that many.
    """
    lines = list(unified(diff(before, after), names))
    for line in lines[:most]:
        say_unbroken(plain(line), style=_STYLES.get(line[:1], ""))
    if len(lines) > most:
        say(f"... {len(lines) - most} more lines; {whole}")
    if lines:
        say("")


def unified(lines: Sequence[DiffLine], names: tuple[str, str]) -> Iterator[str]:
    """Yield the lines of a unified diff; none where there is no difference.

    Args:
        lines: The difference, in at least one line of context.
        names: What the old and the new text are called.
    """
    if lines:
        yield from (f"--- {names[0]}", f"+++ {names[1]}")
    for is_gap, found in groupby(lines, key=lambda line: line.kind == "gap"):
        if not is_gap:
            hunk = list(found)
            old = _range([line.old for line in hunk if line.old is not None])
            new = _range([line.new for line in hunk if line.new is not None])
            yield f"@@ -{old} +{new} @@"
            yield from (_SIGNS[line.kind] + line.text for line in hunk)


def _range(numbers: Sequence[int]) -> str:
    """Return which lines of a text a hunk shows: the first one and, unless it is the only one, how many."""
    if not numbers:
        return "0,0"
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]},{len(numbers)}"
