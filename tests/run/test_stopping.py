"""When a training ends before its last step."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.values import measured, rollout

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.run.stopping import saturated, stop_reason
from skillopt.skill.document import Skill
from skillopt.state import Measured, State
from skillopt.step.gate import decide

SCORE = st.sampled_from([(0, 0.0), (0, 0.5), (0, 1.0), (1, 1.0), (1, 0.9)])


@given(
    st.integers(1, 3),
    st.lists(SCORE, min_size=1, max_size=4),
    st.sampled_from(["hard", "soft", "mixed"]),
    st.sampled_from([0.0, 0.3, 1.0]),
)
def test_training_is_saturated_exactly_where_a_perfect_candidate_would_be_rejected(
    repeats: int, scores: list[Any], metric: Any, weight: float
) -> None:
    """F131: by each metric, over any number of passes."""
    evaluation = EvaluationSettings(repeats=repeats, gate_metric=metric, gate_mixed_weight=weight)

    def in_passes(scores: list[Any]) -> Measured:
        passes = [
            replace(rollout(number, *score), repeat=repeat)
            for repeat in range(repeats)
            for number, score in enumerate(scores)
        ]
        return Measured(Skill.parse("now"), tuple(passes))

    current, perfect = in_passes(scores), in_passes([(1, 1.0)] * len(scores))
    decision = decide(current, current, perfect.rollouts, candidate=Skill.parse("perfect"), evaluation=evaluation)
    assert saturated(current, evaluation) == (not decision.accepted)


def test_one_pass_that_fails_leaves_room() -> None:
    """F18: two of three passes are perfect, and the skill is not."""
    now = Measured(Skill.parse("now"), (*[replace(rollout(0, 1), repeat=n) for n in (0, 1)], rollout(0, 0)))
    assert not saturated(now, EvaluationSettings(repeats=3))


@pytest.mark.parametrize("settings", [{"use_gate": False}, {"acceptance": "rule.py:rule"}])
def test_where_a_tie_may_be_accepted_nothing_is_saturated(settings: dict[str, Any]) -> None:
    """F38."""
    assert saturated(measured([1, 1]), EvaluationSettings())
    assert not saturated(measured([1, 1]), EvaluationSettings.model_validate(settings))


@pytest.mark.parametrize(
    ("patience", "step", "accepted", "reason"),
    [
        (0, 9, 0, ""),
        (2, 1, 0, ""),
        (2, 2, 0, "2 steps in a row without an accepted candidate (evaluation.patience)"),
        (2, 4, 3, ""),
        (1, 4, 3, "1 step without an accepted candidate (evaluation.patience)"),
    ],
)
def test_patience_counts_the_steps_since_the_last_acceptance(
    patience: int, step: int, accepted: int, reason: str
) -> None:
    now = measured([1, 0], step=accepted)
    state = State(seed=now, current=now, best=now, step=step)
    assert stop_reason(state, EvaluationSettings(patience=patience)) == reason


def test_the_highest_score_is_a_reason_of_its_own() -> None:
    now = measured([1, 1])
    reason = stop_reason(State(seed=now, current=now, best=now, step=5), EvaluationSettings(patience=1))
    assert reason == "the current skill has the highest possible score on the selection split"
