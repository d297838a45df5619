"""The difference of two texts."""

from __future__ import annotations

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.cli.text_difference import show_text_difference, unified
from skillopt.report.text_diff import changed, diff

TEXTS = st.lists(st.sampled_from(["a", "b", "", "c d"]), max_size=30).map("\n".join)


def test_a_difference_is_a_unified_diff_of_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_text_difference("a\nb\n", "a\nc\x1b[2J\n", names=("A", "B"))
    assert capsys.readouterr().out.splitlines() == ["--- A", "+++ B", "@@ -1,2 +1,2 @@", " a", "-b", "+c\ufffd[2J", ""]


@given(TEXTS, TEXTS)
def test_every_tool_can_read_it(old: str, new: str) -> None:
    expected = difflib.unified_diff(old.splitlines(), new.splitlines(), "A", "B", lineterm="")
    assert list(unified(diff(old, new), ("A", "B"))) == list(expected)


def test_a_terminal_shows_the_lines_that_a_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """Also of texts so long, and so full of equal lines, that a differ may take to guessing."""
    old = "- a rule\n" * 300
    new = f"# Rules\n{old}"
    show_text_difference(old, new, names=("A", "B"))
    signs = [line[0] for line in capsys.readouterr().out.splitlines()[2:] if line]
    assert (signs.count("+"), signs.count("-")) == changed(diff(old, new)) == (1, 0)


def test_equal_texts_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    show_text_difference("a\n", "a\n", names=("A", "B"))
    assert capsys.readouterr().out == ""


def test_a_long_one_says_where_the_rest_is(capsys: pytest.CaptureFixture[str]) -> None:
    show_text_difference("", "\n".join(map(str, range(50))), names=("A", "B"), most=10, whole="read the file")
    lines = capsys.readouterr().out.splitlines()
    assert lines[10] == "... 43 more lines; read the file"
