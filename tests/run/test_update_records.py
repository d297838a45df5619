"""What a step's record says of its batches, its budget and its rewrites."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.support.values import append, patch, rollout, state, unmeasured

from skillopt.config.schema import Config
from skillopt.results import Candidate, LearningRateDecision, Selected, Step
from skillopt.run.update_records import accumulation_batches, decision_json, update_record
from skillopt.skill.document import Skill
from skillopt.types import Action, Decision, EditState, Patch, Rewrite, RewriteOutcome, Rollout

NAMED = LearningRateDecision(2, proposed=9, scheduled=3, available=2, reasoning="why")


def config(**optimizer: Any) -> Config:
    models = {"optimizer": {"name": "a:b"}, "target": {"name": "a:b"}}
    return Config.model_validate(
        {"model": models, "optimizer": optimizer, "train": {"batch_size": 2, "accumulation": 3}}
    )


def step(
    *,
    rollouts: tuple[Rollout, ...] = (),
    patches: tuple[Patch, ...] = (),
    rewrites: tuple[RewriteOutcome, ...] = (),
    named: LearningRateDecision | None = None,
) -> Step:
    candidate = Candidate(Skill("# New\n"), rewrites=rewrites)
    decision = Decision(Action.REJECT, "the reason", Fraction(1, 3))
    return Step((), rollouts, patches, patch(), Selected(), candidate, decision, lr_decision=named)


@pytest.mark.parametrize(
    ("optimizer", "named", "control", "budget"),
    [
        ({}, None, "fixed", 4),
        ({"lr_control_mode": "autonomous"}, NAMED, "autonomous", 2),
        ({"lr_scheduler": "autonomous"}, None, "autonomous", 4),
        ({"lr_control_mode": "none"}, None, "none", None),
        ({"skill_update_mode": "full_rewrite_minibatch"}, None, "none", None),
    ],
)
def test_the_budget_is_the_one_that_held(
    optimizer: dict[str, Any], named: LearningRateDecision | None, control: str, budget: int | None
) -> None:
    record = update_record(config(**optimizer), state(budget=4), step(named=named))
    assert (record["lr_control_mode"], record["edit_budget"]) == (control, budget)
    assert record["lr_decision"] == (decision_json(named) if named else None)


def test_a_decision_says_what_was_named_and_what_held() -> None:
    numbers = {"budget": 2, "proposed": 9, "scheduled": 3, "available": 2}
    assert decision_json(NAMED) == {**numbers, "fallback": False, "reasoning": "why"}
    assert decision_json(LearningRateDecision(3, None, 3, 6))["fallback"] is True


def test_every_rewrite_is_listed_with_its_end_and_the_taken_one_with_its_changes() -> None:
    taken = RewriteOutcome(Rewrite("# New", ("one", "two"), source_type="success"), EditState.APPLIED)
    lost = RewriteOutcome(Rewrite("# Other", ("three",)), EditState.OVER_BUDGET, "why")
    record = update_record(config(), state(), step(rewrites=(taken, lost)))
    assert record["rewrite_change_summary"] == ["one", "two"]
    assert record["rewrites"] == [
        {"status": "applied", "detail": "", "source_type": "success"},
        {"status": "over_budget", "detail": "why", "source_type": "failure"},
    ]
    assert update_record(config(), state(), step(rewrites=(lost,)))["rewrite_change_summary"] is None


def test_every_batch_has_its_scores_and_its_patches() -> None:
    made = step(
        rollouts=(rollout(0, 1), rollout(1, 0, 0.5), rollout(2), unmeasured(3), unmeasured(4)),
        patches=(
            patch(append("a"), tasks=[1]),
            patch(append("b"), tasks=[2]),
            patch(append("c"), source="success", tasks=[0]),
        ),
    )
    assert accumulation_batches(config(), made, step_in_epoch=2) == [
        {"batch_idx": 6, "n_envs": 2, "hard": 0.5, "soft": 0.75, "n_failure_patches": 1, "n_success_patches": 1},
        {"batch_idx": 7, "n_envs": 2, "hard": 0.0, "soft": 0.0, "n_failure_patches": 1, "n_success_patches": 0},
        {"batch_idx": 8, "n_envs": 1, "hard": None, "soft": None, "n_failure_patches": 0, "n_success_patches": 0},
    ]
