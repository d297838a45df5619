"""Decisions of the gate where there is nothing to measure: the current skill stays, and the reason says why."""

from __future__ import annotations

from dataclasses import replace

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.evaluation.scores import gate_score
from skillopt.results import Candidate
from skillopt.state import State
from skillopt.step.passes import draws_needed
from skillopt.types import Action, Decision, EditState


def no_verdict(state: State, action: Action, reason: str, *, evaluation: EvaluationSettings) -> Decision:
    """Return the decision where there is nothing to measure; the current skill stays."""
    current = state.current
    return Decision(action, reason, gate_score(current.rollouts, evaluation), total=draws_needed(current, evaluation))


def keep_or_drop(state: State, decision: Decision, *, last: bool) -> Decision:
    """Return a decision on edits of several steps: what could not be measured enough waits for the next step.

    Args:
        state: Whose edits were gated.
        decision: What the gate decided.
        last: Whether there is no next step; then they are dropped, and the reason says so.
    """
    if state.draft is None or decision.action is not Action.SKIP_UNMEASURED:
        return decision
    if last:
        told = "the edits that waited for the gate are dropped: this was the last step"
        return replace(decision, reason=f"{decision.reason}; {told}")
    told = "the edits are kept, and judged with those of the next step"
    return replace(decision, action=Action.DEFERRED, reason=f"{decision.reason}; {told}")


def nothing_to_judge(state: State, candidate: Candidate, *, evaluation: EvaluationSettings) -> Decision:
    """Return the decision on a candidate that is the current skill, with the reason why it is."""
    vetted_out = len(candidate.vetted_out)
    if state.draft is not None:
        reason = "the edits that waited for the gate were undone: the candidate is the current skill"
        action = Action.SKIP_NO_CHANGE
    elif candidate.rewrites and all(outcome.state is not EditState.DUPLICATE for outcome in candidate.rewrites):
        said = "; ".join(dict.fromkeys(outcome.detail for outcome in candidate.rewrites))
        action, reason = Action.SKIP_NO_REWRITE, f"there is no rewrite that can be used: {said}"
    elif candidate.rewrites:
        action, reason = Action.SKIP_NO_CHANGE, "the rewrite changes nothing: the candidate is the current skill"
    elif vetted_out:
        action = Action.SKIP_NO_CHANGE
        reason = (
            f"no edit is left: alone on the tasks they came from, {vetted_out} did no better than the current skill"
        )
    elif candidate.outcomes or candidate.notes:
        action, what = Action.SKIP_NO_CHANGE, "edit or reminder" if candidate.notes else "edit"
        reason = f"no {what} could be applied: the candidate is the current skill"
    else:
        action, reason = Action.SKIP_NO_PATCHES, "no edit was proposed and selected, so there was nothing to apply"
    return no_verdict(state, action, reason, evaluation=evaluation)
