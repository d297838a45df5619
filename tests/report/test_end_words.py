"""The end of a run in words."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt.report.end_words import after_the_last_step, difference, ended, made_by, shown_scores


def scores(solved: int, unmeasured: int = 0) -> dict[str, Any]:
    return {"hard": solved / 4, "shown": f"{solved}/4", "unmeasured": unmeasured}


def test_the_state_is_said_once() -> None:
    assert ended("improved", "Read best_skill.md.") == "improved: Read best_skill.md."
    assert ended("limit_reached", "limit_reached: calls") == "limit_reached: calls"


def test_what_was_not_measured_stands_beside_the_counts() -> None:
    """F1, F93."""
    assert (shown_scores(scores(3)), shown_scores(scores(3, 1))) == ("3/4", "3/4, 1 unmeasured")


def test_test_tasks_that_are_missing_leave_a_difference_over_the_others() -> None:
    """F1: an outage that hit the hard ones is no gain."""
    summary: dict[str, Any] = {
        "selection": {"seed": scores(1), "best": scores(2)},
        "test": {"seed": scores(1), "best": scores(3, 1)},
        "test_delta_hard": 0.0,
        "test_delta_tasks": 1,
    }
    assert difference(summary, "selection") == "+25.0 points"
    assert difference(summary, "test") == "+0.0 points on 1 task"
    assert difference({**summary, "test": {"seed": scores(1), "best": scores(2)}}, "test") == "+0.0 points"
    assert difference({**summary, "test_delta_hard": None}, "test") == "not measured"


@pytest.mark.parametrize(
    ("origin", "step", "words"),
    [
        ("slow_update_epoch_02", 10, "slow update after epoch 2"),
        ("step_0010", 10, "step 10"),
        ("initial_skill", 0, "the seed"),
        ("", 0, "the seed"),
        ("", 10, "step 10"),
        ("", None, "not recorded"),
        ("<b>", None, "not recorded"),
    ],
)
def test_what_made_a_skill_has_a_name_of_its_own(origin: str, step: int | None, words: str) -> None:
    assert made_by(origin, step=step) == words


def test_a_step_and_the_slow_update_after_it_are_two_finalists() -> None:
    finalists = [
        {"step": 10, "origin": "step_0010", "fresh_score": 0.5, "gate_score": 0.5},
        {"step": 10, "origin": "slow_update_epoch_02", "fresh_score": 0.75, "gate_score": 0.5},
    ]
    summary = {"final": {"finalists": finalists}, "best_step": 10, "best_origin": "slow_update_epoch_02"}
    (told,) = after_the_last_step(summary)
    assert told == (
        "Best skill: slow update after epoch 2, chosen by fresh passes among step 10 50.0 % (at the gate 50.0 %), "
        "slow update after epoch 2 75.0 % (at the gate 50.0 %)"
    )


def test_fresh_passes_stand_beside_what_the_gate_measured() -> None:
    """F37, F40."""
    assert list(after_the_last_step({})) == list(after_the_last_step({"final": None})) == []
    final = {
        "finalists": [{"step": 4, "fresh_score": 0.75, "gate_score": 0.875}],
        "passes": {"n": 2, "mean": 0.75},
        "seed_passes": {"mean": 0.25},
    }
    summary = {"final": final, "best_step": 4, "best_gate_score": 0.875, "baseline_gate_score": 0.125}
    assert list(after_the_last_step(summary)) == [
        "Best skill: step 4, chosen by fresh passes among step 4 75.0 % (at the gate 87.5 %)",
        "Its score on the selection split is that of 2 fresh passes: 75.0 %; at the gate it had 87.5 %.",
        "The seed's is that of as many beside them: 25.0 %; its baseline was 12.5 %.",
    ]
    assert len(list(after_the_last_step({**summary, "final": {**final, "seed_passes": None}}))) == 1
