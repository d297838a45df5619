"""Where there is nothing to measure, the current skill stays, and the reason says why."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.support.values import append, measured

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.results import Candidate, Draft
from skillopt.state import State
from skillopt.step.unjudged import keep_or_drop, no_verdict, nothing_to_judge
from skillopt.types import Action, Decision, EditOutcome, EditState, Note

CURRENT = measured([0, 1, 1, 0], "# Current\n")
STATE = State(seed=CURRENT, current=CURRENT, best=CURRENT).next_step(epoch=1, budget=2)
EVALUATION = EvaluationSettings()


def candidate(*states: EditState, notes: tuple[Note, ...] = ()) -> Candidate:
    outcomes = tuple(EditOutcome(append(f"rule {number}"), state) for number, state in enumerate(states))
    return Candidate(CURRENT.skill, outcomes, notes=notes)


def test_no_verdict_keeps_the_score_and_counts_what_a_candidate_would_have_taken() -> None:
    decision = no_verdict(STATE, Action.SKIP_REPEATED, "it lost before", evaluation=EVALUATION)
    assert (decision.action, decision.accepted, decision.candidate_score) == (Action.SKIP_REPEATED, False, None)
    assert (decision.current_score, decision.total, decision.measured) == (0.5, 4, 0)


@pytest.mark.parametrize(
    ("made", "action", "words"),
    [
        (candidate(), Action.SKIP_NO_PATCHES, "no edit was proposed and selected"),
        (candidate(EditState.UNMATCHED), Action.SKIP_NO_CHANGE, "no edit could be applied"),
        (candidate(EditState.VETTED_OUT, EditState.VETTED_OUT), Action.SKIP_NO_CHANGE, "2 did no better"),
        (candidate(notes=(Note("mind it"),)), Action.SKIP_NO_CHANGE, "no edit or reminder could be applied"),
    ],
)
def test_the_reason_says_what_became_of_the_proposals(made: Candidate, action: Action, words: str) -> None:
    decision = nothing_to_judge(STATE, made, evaluation=EVALUATION)
    assert decision.action is action
    assert words in decision.reason


def test_edits_that_waited_and_were_undone_are_told() -> None:
    waiting = replace(STATE, draft=Draft(CURRENT.skill, (append("x"),), (1,)))
    decision = nothing_to_judge(waiting, candidate(EditState.APPLIED), evaluation=EVALUATION)
    assert "were undone" in decision.reason


@pytest.mark.parametrize("last", [False, True])
def test_edits_of_several_steps_wait_on_where_too_much_could_not_be_measured(last: bool) -> None:
    """Nothing is lost to an outage but at the end of the run, and then it is told."""
    waiting = replace(STATE, draft=Draft(CURRENT.skill, (append("x"),), (1,)))
    open_one = Decision(Action.SKIP_UNMEASURED, "no verdict", Fraction(1, 2))
    decision = keep_or_drop(waiting, open_one, last=last)
    assert decision.action is (Action.SKIP_UNMEASURED if last else Action.DEFERRED)
    assert decision.reason.startswith("no verdict; the edits")
    assert ("dropped" in decision.reason) == last
    assert keep_or_drop(STATE, open_one, last=last) is open_one, "a step's own edits come and go with it"
    lost = replace(open_one, action=Action.REJECT)
    assert keep_or_drop(waiting, lost, last=last) is lost
