"""The edits of a step, a line each."""

from __future__ import annotations

import io
from typing import get_args

import pytest
from rich.console import Console
from rich.text import Text
from tests.support.records import committed, edit, started

from skillopt.cli.edit_lines import cut, edit_line, show_edits
from skillopt.report.live import follow_all
from skillopt.report.live_state import NOTHING, EditLine, Verdict


def line(verdict: Verdict, *, text: str = "Write dates as ISO.", width: int = 80, status: str = "applied") -> str:
    return edit_line(EditLine(1, "append", status, text, verdict), width=width).plain


def test_a_line_says_what_became_of_the_edit_before_it_says_the_edit() -> None:
    assert line("accepted") == "  + accepted: append: Write dates as ISO."
    assert line("rejected") == "  - rejected: append: Write dates as ISO."
    assert line("not applied", status="unmatched") == "  x unmatched: append: Write dates as ISO."


def test_every_verdict_has_a_sign_of_its_own() -> None:
    verdicts: tuple[Verdict, ...] = get_args(Verdict)
    assert len({line(verdict)[2] for verdict in verdicts}) == len(verdicts)


@pytest.mark.parametrize("width", [0, 1, 3, 20, 40, 79])
@pytest.mark.parametrize("text", ["short", "word " * 60, "日本語" * 40])
def test_an_edit_takes_one_line_of_any_window(width: int, text: str) -> None:
    shown = line("accepted", text=text, width=width)
    assert Text(shown).cell_len <= width
    assert "\n" not in shown
    assert shown.endswith(("..."[:width], "short"))


def test_foreign_text_moves_no_cursor() -> None:
    assert "\x1b" not in line("accepted", text="a\x1b[2J[red]") and "[red]" in line("accepted", text="a\x1b[2J[red]")


def test_a_line_that_fits_is_left_alone() -> None:
    assert cut(Text("abc"), 3).plain == "abc"
    assert cut(Text("abcd"), 3).plain == "..."


def test_the_edits_that_are_shown_are_those_of_the_last_step() -> None:
    events = (started(), committed(1, edit("old")), committed(2, edit("a"), edit("b", "invalid"), action="accept"))
    known = follow_all(NOTHING, [(event, 1.0) for event in events])
    out = io.StringIO()
    show_edits(known, Console(file=out, width=40))
    assert out.getvalue().splitlines() == ["  + accepted: append: a", "  x invalid: append: b"]
