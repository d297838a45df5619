"""The edits of a step, a line each: what became of it first, so that a narrow window cuts the text and not that."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from rich.console import Console
from rich.text import Text

from skillopt.report.live_state import EditLine, LiveRun, Verdict
from skillopt.text_files import plain

_MARKS: Final[Mapping[Verdict, tuple[str, str]]] = {
    "accepted": ("+", "green"),
    "rejected": ("-", "red"),
    "waiting": ("~", ""),
    "not judged": ("?", ""),
    "not applied": ("x", "dim"),
}
"""A sign and a style for each; nothing is said by colour alone."""


def show_edits(known: LiveRun, out: Console) -> None:
    """Print the edits of the step that was finished last, a line each."""
    for edit in known.edits:
        if edit.step == known.points[-1].step:
            out.print(edit_line(edit, width=out.width), soft_wrap=True)


def edit_line(edit: EditLine, *, width: int) -> Text:
    """Return an edit as one line of at most `width` columns.

    A text that is cut ends in three dots, so that the line is the same in any encoding.
    """
    mark, style = _MARKS[edit.verdict]
    what = edit.verdict if edit.verdict != "not applied" else edit.status
    line = Text(plain(f"  {mark} {what}: {edit.operation}: {edit.text}"), style=style)
    return cut(line, width)


def cut(line: Text, width: int) -> Text:
    """Return a line that takes at most `width` columns."""
    if line.cell_len > width:
        line.truncate(max(0, width - 3), overflow="crop")
        line.append("..."[:width])
    return line
