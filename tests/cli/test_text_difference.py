"""The difference of two texts."""

from __future__ import annotations

import pytest

from skillopt.cli.text_difference import show_text_difference


def test_a_difference_is_a_unified_diff_of_plain_text(capsys: pytest.CaptureFixture[str]) -> None:
    show_text_difference("a\nb\n", "a\nc\x1b[2J\n", names=("A", "B"))
    assert capsys.readouterr().out.splitlines() == ["--- A", "+++ B", "@@ -1,2 +1,2 @@", " a", "-b", "+c\ufffd[2J", ""]


def test_equal_texts_have_none(capsys: pytest.CaptureFixture[str]) -> None:
    show_text_difference("a\n", "a\n", names=("A", "B"))
    assert capsys.readouterr().out == ""


def test_a_long_one_says_where_the_rest_is(capsys: pytest.CaptureFixture[str]) -> None:
    show_text_difference("", "\n".join(map(str, range(50))), names=("A", "B"), most=10, whole="read the file")
    lines = capsys.readouterr().out.splitlines()
    assert lines[10] == "... 43 more lines; read the file"
