from __future__ import annotations

import pytest

from skillopt.environments.scorers.pattern import LONGEST_SEARCHED, Pattern
from skillopt.errors import DataError
from skillopt.types import JsonValue, Score, Task, Trajectory


def scored(scorer: Pattern, predicted: str, answer: JsonValue) -> Score:
    task = Task("1", {"answer": answer})
    scorer.check(task)
    return scorer.score(predicted, task, Trajectory((), predicted))


def test_each_tasks_answer_is_an_expression() -> None:
    assert scored(Pattern(), "2024-03-05", r"\d{4}-\d\d-\d\d").hard == 1
    assert scored(Pattern(), "on 2024-03-05", r"\d{4}-\d\d-\d\d").hard == 0
    assert scored(Pattern(match="search"), "on 2024-03-05", r"\d{4}-\d\d-\d\d").hard == 1
    assert scored(Pattern(), "b", ["a", "b"]).hard == 1


def test_one_pattern_for_all_can_hold_the_tasks_answer_literally() -> None:
    scorer = Pattern("CODE: {answer}")
    assert not scorer.same_for_all
    assert scored(scorer, "CODE: A+1", "A+1").hard == 1
    assert scored(scorer, "CODE: AA1", "A+1").hard == 0


def test_one_pattern_without_the_answer_needs_no_answer() -> None:
    scorer = Pattern(r"\d+")
    assert scorer.same_for_all
    assert scored(scorer, "12", None).hard == 1


@pytest.mark.parametrize("bad", ["(", "[a", "a**", r"\9", ["ok", "(?P<"]])
def test_an_expression_that_does_not_compile_is_an_error_with_its_place(bad: JsonValue) -> None:
    """F57: never a silent zero."""
    with pytest.raises(DataError, match=r"t\.jsonl, line 4: task 'x': .*no regular expression"):
        Pattern().check(Task("x", {"answer": bad}, location="t.jsonl, line 4"))


def test_feedback_shows_the_expression() -> None:
    assert scored(Pattern(), "x", r"\d").feedback == (
        r"Expected '\d'; the answer was 'x' (the expected answer is a regular expression)."
    )


@pytest.mark.parametrize(
    ("scorer", "answer"), [(Pattern(), r"\d"), (Pattern("CODE: {answer}"), "A"), (Pattern("b"), None)]
)
def test_an_expression_is_no_answer_to_copy(scorer: Pattern, answer: JsonValue) -> None:
    for said in ("x", "CODE: A"):
        assert scored(scorer, said, answer).expected == ""


def test_the_searched_text_is_bounded() -> None:
    assert scored(Pattern(match="search"), "early" + " " * LONGEST_SEARCHED, "early").hard == 0


def test_the_rule_names_the_pattern() -> None:
    assert Pattern("x+", "search").rule == "it contains a match of the pattern x+"
    assert Pattern().rule == "it matches the task's expected pattern"
