"""Tasks, trajectories, scores, rollouts."""

from __future__ import annotations

import math
from typing import Any

import pytest

from skillopt.types import Failure, Message, Rollout, Score, Task, Trajectory, Usage

TASK = Task("t1", {"question": "q", "answer": "a"}, category="c", location="file.jsonl:3")
TRAJECTORY = Trajectory((Message("user", "q"),), "a")
FAILURE = Failure("timeout", "target", "TimeoutError", "no answer within 7 seconds")


def test_a_task_is_what_it_holds_and_not_where_it_was_read() -> None:
    moved = Task("t1", {"answer": "a", "question": "q"}, category="c", location="elsewhere.csv:9")
    assert (moved, moved.digest, hash(moved)) == (TASK, TASK.digest, hash(TASK))
    assert TASK.digest != Task("t1", {"question": "q", "answer": "b"}, category="c").digest
    assert TASK.digest != Task("t2", TASK.fields, category="c").digest


def test_the_fields_of_a_task_cannot_be_changed() -> None:
    fields = {"question": "q"}
    task = Task("t", fields)
    fields["question"] = "another"
    assert task.fields["question"] == "q"
    with pytest.raises(TypeError):
        task.fields["question"] = "another"  # type: ignore[index]


@pytest.mark.parametrize("soft", [math.nan, math.inf, -0.1, 1.1])
def test_what_is_no_share_is_no_soft_score(soft: float) -> None:
    """More 3: a NaN or missing score is no score."""
    with pytest.raises(ValueError, match="soft is"):
        Score(0, soft)


@pytest.mark.parametrize("hard", [2, -1, 0.5])
def test_a_hard_score_is_0_or_1(hard: int) -> None:
    with pytest.raises(ValueError, match="hard is"):
        Score(hard, 0.0)


@pytest.mark.parametrize("name", ["feedback", "predicted", "expected", "note"])
@pytest.mark.parametrize("value", [None, 4, b"x", ["a"]])
def test_what_a_score_says_is_text(name: str, value: object) -> None:
    """F6: found where the scorer returns it, and not where a page is written."""
    texts: dict[str, Any] = {name: value}
    with pytest.raises(TypeError, match=f"{name} is .* it must be a text"):
        Score(0, 0.0, **texts)


@pytest.mark.parametrize("value", [math.nan, math.inf, -0.1, 1.1, 2])
def test_what_is_no_share_is_no_criterion(value: float) -> None:
    """F17, F24, More 3: as for the other scores."""
    with pytest.raises(ValueError, match="criterion 'right' is"):
        Score(0, 0.0, criteria={"right": value})


@pytest.mark.parametrize("criteria", [None, [("a", 1)], {"a": "1"}, {"a": None}, {1: 0.5}, {"": 0.5}])
def test_criteria_are_numbers_by_name(criteria: Any) -> None:
    with pytest.raises(TypeError, match=r"criteri(a|on)"):
        Score(0, 0.0, criteria=criteria)


def test_criteria_are_kept_as_numbers_in_the_order_of_their_names_and_cannot_be_changed() -> None:
    given = {"right": True, "brief": 0}
    score = Score(0, 0.0, criteria=given)
    given["right"] = False
    assert list(score.criteria.items()) == [("brief", 0.0), ("right", 1.0)]
    assert {type(value) for value in score.criteria.values()} == {float}
    assert score == Score(0, 0.0, criteria={"brief": 0.0, "right": 1.0})
    assert hash(score) == hash(Score(0, 0.0, criteria={"brief": 0.0, "right": 1.0}))
    with pytest.raises(TypeError):
        score.criteria["right"] = 0.0  # type: ignore[index]


def test_a_score_is_kept_as_numbers_of_its_types() -> None:
    score = Score(True, 1)
    assert (score.hard, type(score.hard), type(score.soft)) == (1, int, float)


def test_a_rollout_of_score_zero_is_measured() -> None:
    """More 3: a stored score of 0.0 is a score."""
    assert Rollout(TASK, "digest", trajectory=TRAJECTORY, score=Score(0, 0.0)).measured


def test_a_failure_is_never_a_score() -> None:
    """F1, F14."""
    rollout = Rollout(TASK, "digest", failure=FAILURE)
    assert not rollout.measured
    assert rollout.score is None


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"trajectory": TRAJECTORY},
        {"score": Score(1, 1.0)},
        {"trajectory": TRAJECTORY, "score": Score(1, 1.0), "failure": FAILURE},
    ],
)
def test_a_rollout_is_a_score_with_its_trajectory_or_a_failure(parts: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="'t1'"):
        Rollout(TASK, "digest", **parts)  # type: ignore[arg-type]


def test_clock_readings_make_no_difference_between_trajectories() -> None:
    assert Trajectory((), "a", seconds=1.0) == Trajectory((), "a", seconds=2.0)


def test_usage_adds_up_by_kind() -> None:
    total = Usage(1, 10, 20, 3) + Usage(2, 1, 0, 4)
    assert (total, total.tokens) == (Usage(3, 11, 20, 7), 38)
