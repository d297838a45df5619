from __future__ import annotations

import pytest

from skillopt.environments.options import Option, options_in_text, read_options, task_options
from skillopt.types import JsonValue, Task

RED_GREEN = (Option("A", "red"), Option("B", "green"))


@pytest.mark.parametrize(
    "value",
    [
        ["red", "green"],
        [{"label": "A", "text": "red"}, {"label": "B", "text": "green"}],
        {"A": "red", "B": "green"},
        "(A) red\n(B) green",
        "A. red\r\nB. green\r\n",
        "A) red\nB) green",
    ],
)
def test_a_field_of_options_may_have_several_shapes(value: JsonValue) -> None:
    assert read_options(value) == RED_GREEN


def test_numbers_are_options_too() -> None:
    assert read_options([1, 2.5]) == (Option("A", "1"), Option("B", "2.5"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "no options"),
        (3, "no options"),
        ("red", "no options"),
        ([{"label": "A", "text": "x"}, {"label": "A", "text": "y"}], "label twice"),
        ([{"label": "A"}], "option 1 needs 'label' and 'text'"),
        ([None], "no text"),
        (["x"] * 27, "27 options"),
    ],
)
def test_other_shapes_are_errors(value: JsonValue, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_options(value)


def test_options_in_the_question_are_found_by_their_lines() -> None:
    question = "Which colour (A) or so?\n1. Look.\nOptions:\n(A) red\n(B) green"
    assert options_in_text(question) == RED_GREEN
    assert options_in_text("Choices:\n1) red\n2) green") == (Option("1", "red"), Option("2", "green"))


def test_the_last_run_of_labels_from_a_counts() -> None:
    assert options_in_text("A. first\nB. second\nThen choose:\nA. red\nB. green\n") == RED_GREEN


def test_a_single_label_or_a_gap_makes_no_options() -> None:
    assert options_in_text("A. Lincoln was born in 1809.") == ()
    assert options_in_text("(C) red\n(D) green") == ()
    assert options_in_text("- yes\n- no") == ()


def test_bullets_below_a_heading_are_options_named_by_their_text() -> None:
    options = options_in_text("Are we there?\nOptions:\n- Yes\n- No")
    assert options == (Option("Yes", "Yes"), Option("No", "No"))
    assert [option.shown for option in options] == ["Yes", "No"]


def test_the_field_stands_before_the_question() -> None:
    question = "Options:\n- Yes\n- No"
    assert task_options(Task("1", {"question": question, "options": ["red", "green"]})) == RED_GREEN
    assert len(task_options(Task("1", {"question": question}))) == 2
    assert task_options(Task("1", {"question": 7})) == ()
    assert RED_GREEN[1].shown == "(B) green"
