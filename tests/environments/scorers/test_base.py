from __future__ import annotations

import pytest

from skillopt.environments.scorers.base import data_error, expected, gold_texts, gold_values, shown, trimmed, verdict
from skillopt.errors import DataError
from skillopt.types import JsonValue, Task


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ("a", ("a",)),
        (" a ", ("a",)),
        (7, ("7",)),
        (7.5, ("7.5",)),
        (True, ("true",)),
        (["a", 7], ("a", "7")),
        (0, ("0",)),
    ],
)
def test_accepted_answers_become_texts(answer: JsonValue, texts: tuple[str, ...]) -> None:
    assert gold_texts(Task("1", {"answer": answer})) == texts


def test_an_object_is_one_accepted_answer_and_no_text() -> None:
    task = Task("1", {"answer": {"a": 1}})
    assert gold_values(task) == ({"a": 1},)
    with pytest.raises(DataError, match="is not text") as caught:
        gold_texts(task)
    assert "scorer json" in caught.value.hint


@pytest.mark.parametrize("answer", [None, "", " \n", [], ["a", ""], ["a", None]])
def test_a_blank_answer_is_a_missing_one(answer: JsonValue) -> None:
    with pytest.raises(DataError, match="missing or empty"):
        gold_values(Task("1", {"answer": answer}))


def test_a_missing_answer_names_the_fields_there_are() -> None:
    with pytest.raises(DataError, match="task '1': the field 'answer' is missing") as caught:
        gold_values(Task("1", {"target": "x"}))
    assert "target" in caught.value.hint


def test_an_error_of_a_task_starts_with_its_place() -> None:
    assert str(data_error(Task("é", {}, location="a.csv, line 2"), "bad")) == "a.csv, line 2: task 'é': bad"


def test_long_texts_keep_their_start_and_end() -> None:
    text = "start" + "x" * 500 + "end"
    assert len(shown(text)) == 200
    assert shown(text).startswith("start")
    assert shown(text).endswith("end")
    assert trimmed("a\nb") == "a\nb"
    assert shown("a\nb\tc\r") == "a\\nb\\tc\\r"


def test_at_most_three_accepted_answers_are_listed() -> None:
    assert expected(["a"]) == "'a'"
    assert expected(["a", "b", "c", "d", "e"]) == "'a' or 'b' or 'c' (or 2 more)"


def test_a_verdict_says_what_was_expected_and_what_came() -> None:
    """F41"""
    wrong = verdict(["2024-03-05"], "March 5", soft=0.0, hard=False)
    assert wrong.feedback == "Expected '2024-03-05'; the answer was 'March 5'."
    assert verdict(["x"], "", soft=0.0, hard=False).feedback == "Expected 'x'; no answer was found."
    assert verdict(["x"], "X", soft=1.0, hard=True, note="n").feedback == "Right: 'X' (n)."
    assert len(verdict(["x"], "y" * 9999, soft=0.0, hard=False).predicted) == 2000


def test_without_an_answer_to_name_nothing_is_said_to_be_expected() -> None:
    wrong = verdict((), "x", soft=0.5, hard=False, note="score 0.5")
    assert (wrong.feedback, wrong.expected) == ("Wrong: the answer was 'x' (score 0.5).", "")
    assert verdict((), "", soft=0.0, hard=False).feedback == "Wrong: no answer was found."
    assert verdict((), "x", soft=1.0, hard=True).expected == ""


def test_a_score_names_the_expected_answer_as_it_is_written() -> None:
    assert verdict(("2014.01.12",), "January", soft=0.0, hard=False).expected == "2014.01.12"
    assert verdict(("a", "b", "c", "d"), "x", soft=0.0, hard=False).expected == "a or b or c (or 1 more)"
