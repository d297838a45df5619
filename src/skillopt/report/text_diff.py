"""The difference between two texts line by line, as typed lines that a page or a terminal can show."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["same", "added", "removed", "gap"]

_CONTEXT = 3


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a difference.

    Attributes:
        kind: same in both, only in the new text, only in the old one, or a gap where equal lines are left out.
        text: The line without its line end; for a gap, "".
        old: Its number in the old text, from 1; None where it is not there.
        new: Its number in the new text.
    """

    kind: Kind
    text: str = ""
    old: int | None = None
    new: int | None = None


def diff(old: str, new: str, *, context: int = _CONTEXT) -> tuple[DiffLine, ...]:
    """Return the difference between two texts; nothing where no line differs.

    Args:
        old: The text that was.
        new: The text that is.
        context: Equal lines that are shown around a change.
    """
    before, after = old.splitlines(), new.splitlines()
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    lines: list[DiffLine] = []
    for group in matcher.get_grouped_opcodes(context):
        if lines or group[0][1] > 0:
            lines.append(DiffLine("gap"))
        for tag, old_start, old_end, new_start, new_end in group:
            if tag == "equal":
                shift = new_start - old_start
                lines += [DiffLine("same", before[at], at + 1, at + 1 + shift) for at in range(old_start, old_end)]
                continue
            lines += [DiffLine("removed", before[at], old=at + 1) for at in range(old_start, old_end)]
            lines += [DiffLine("added", after[at], new=at + 1) for at in range(new_start, new_end)]
    return tuple(lines)


def changed(lines: tuple[DiffLine, ...]) -> tuple[int, int]:
    """Return how many lines were added and how many removed."""
    return sum(line.kind == "added" for line in lines), sum(line.kind == "removed" for line in lines)
