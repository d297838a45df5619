"""What a step's record says of the gate beyond one candidate's scores."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.support.values import append, rollout, state, unmeasured

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.results import Draft
from skillopt.run.gate_records import criteria_record, refresh_record, waiting_record
from skillopt.skill.document import Skill
from skillopt.types import Action, Decision, Rollout

DRAFT = Draft(Skill.parse("draft"), (append("a"), append("b")), (1, 2))


@pytest.mark.parametrize(
    ("action", "gated"),
    [(Action.REJECT, [1, 2, 3]), (Action.ACCEPT, [1, 2, 3]), (Action.DEFERRED, []), (Action.SKIP_REPEATED, [])],
)
def test_a_record_says_whose_edits_were_judged_and_which_wait(action: Action, gated: list[int]) -> None:
    before = replace(state(step=3), draft=DRAFT, window=4)
    waits = action is Action.DEFERRED
    after = replace(before, draft=DRAFT if waits else None, window=2)
    assert waiting_record(before, after, Decision(action, "", Fraction(0))) == {
        "gate_window": 2,
        "gated_steps": gated,
        "pending_steps": [1, 2] if waits else [],
        "pending_edits": 2 if waits else 0,
    }


def test_a_fresh_pass_is_told_with_the_bar_before_and_after() -> None:
    assert refresh_record(EvaluationSettings(), state([1, 1])) is None
    fresh = [replace(rollout(number), repeat=1) for number in (0, 1)]
    assert refresh_record(EvaluationSettings(), state([1, 1]).refresh(fresh)) == {
        "score_before": 1.0,
        "fresh_score": 0.0,
        "score_after": 0.5,
        "passes": 2,
        "best_step": 0,
        "best_score": 0.5,
    }


def test_criteria_are_means_over_what_was_measured() -> None:
    def scored(number: int, share: float) -> Rollout:
        one = rollout(number)
        assert one.score is not None
        return replace(one, score=replace(one.score, criteria={"right": share}))

    assert criteria_record([scored(0, 1.0), scored(1, 0.5), unmeasured(2)]) == {"right": 0.75}
    assert criteria_record([rollout(0)]) == {}
