"""Offsets of lines, and what a removal takes along."""

from __future__ import annotations

import pytest

from skillopt.skill.lines import (
    Span,
    iterate_lines,
    line_end,
    line_number,
    line_start,
    prevailing_line_end,
    trailing_line_ends,
    trim_blank_lines,
    widen_for_removal,
    with_line_ends,
)

MIXED = "a\r\nb\rc\n\nd"


def test_lines_end_at_all_three_line_ends_and_at_no_other_separator() -> None:
    assert [MIXED[line.start : line.end] for line in iterate_lines(MIXED)] == ["a", "b", "c", "", "d"]
    assert [line.number for line in iterate_lines("a\u2028b\x0bc\x85d\n")] == [1]


@pytest.mark.parametrize(("offset", "number", "start"), [(0, 1, 0), (3, 2, 3), (5, 3, 5), (8, 5, 8)])
def test_an_offset_has_the_line_it_lies_on(offset: int, number: int, start: int) -> None:
    assert line_number(MIXED, offset) == number
    assert line_start(MIXED, offset) == start


def test_the_line_end_of_the_last_line_is_empty() -> None:
    assert line_end(MIXED, 0) == Span(1, 3)
    assert line_end(MIXED, 8) == Span(9, 9)


@pytest.mark.parametrize(
    ("text", "expected"), [("", "\n"), ("a\r\nb\r\nc\n", "\r\n"), ("a\rb\r", "\r"), ("a\nb\r\n", "\n")]
)
def test_the_prevailing_line_end_is_the_most_used_one(text: str, expected: str) -> None:
    assert prevailing_line_end(text) == expected


def test_line_ends_are_replaced_as_pairs() -> None:
    assert with_line_ends(MIXED, "\r\n") == "a\r\nb\r\nc\r\n\r\nd"


def test_trimming_keeps_the_indentation_of_the_first_line() -> None:
    assert trim_blank_lines("\n \r\n  - a\n    b \n\n") == "  - a\n    b"
    assert trim_blank_lines(" \n\t") == ""


def test_trailing_line_ends_are_counted_through_blanks() -> None:
    assert [trailing_line_ends(text) for text in ("a", "a\n", "a \n  ", "a\r\n\r\n")] == [0, 1, 1, 2]


@pytest.mark.parametrize(
    ("text", "removed", "expected"),
    [
        ("a\nX\nb\n", "X", "a\nb\n"),
        ("a\n\nX\n\nb\n", "X", "a\n\nb\n"),
        ("a\n\n\nX\n\n\nb\n", "X", "a\n\n\nb\n"),
        ("X\n\nb\n", "X", "b\n"),
        ("a\n\nX\n", "X", "a\n"),
        ("a\n\nX", "X", "a"),
        ("a\nX\n\n\n", "X", "a\n\n\n"),
        ("X", "X", ""),
        ("a\r\n\r\nX\r\n\r\nb\r\n", "X", "a\r\n\r\nb\r\n"),
        ("- X\n- b\n", "X", "- b\n"),
        ("1. X\n2. b\n", "X", "2. b\n"),
        ("## X\nb\n", "X", "b\n"),
        ("say X now\n", "X", "say now\n"),
        ("say X.\n", "X", "say.\n"),
        ("X now\n", "X", " now\n"),
    ],
)
def test_a_removal_leaves_neither_an_empty_line_nor_a_growing_gap(text: str, removed: str, expected: str) -> None:
    start = text.index(removed)
    span = widen_for_removal(text, Span(start, start + len(removed)), floor=0)
    assert text[: span.start] + text[span.end :] == expected


def test_a_removal_never_reaches_ahead_of_its_floor() -> None:
    text = "---\n---\n\nX"
    assert widen_for_removal(text, Span(9, 10), floor=8) == Span(8, 10)
