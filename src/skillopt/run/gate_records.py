"""What a step's record says of the gate beyond one candidate's scores: fresh passes, edits that wait, criteria."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.evaluation.repeats import passes
from skillopt.evaluation.scores import criteria_means, gate_score
from skillopt.state import State
from skillopt.types import Decision, Rollout


def waiting_record(before: State, after: State, decision: Decision) -> dict[str, Any]:
    """Return whose edits a step's decision speaks of, and which ones wait for the gate.

    Args:
        before: The state the step began with.
        after: The state it left.
        decision: The step's.
    """
    draft = after.draft
    return {
        "gate_window": after.window,
        "gated_steps": list(before.gated_steps(decision)),
        "pending_steps": list(draft.steps) if draft is not None else [],
        "pending_edits": len(draft.changes) if draft is not None else 0,
    }


def refresh_record(evaluation: EvaluationSettings, before: State) -> dict[str, Any] | None:
    """Return what the fresh pass ahead of a step did to the bar; None where there was none."""
    refreshed = before.refreshed
    if refreshed is None:
        return None
    now = (*refreshed.before.rollouts, *refreshed.fresh)
    return {
        "score_before": float(gate_score(refreshed.before.rollouts, evaluation)),
        "fresh_score": float(gate_score(refreshed.fresh, evaluation)),
        "score_after": float(gate_score(now, evaluation)),
        "passes": len(passes(now, evaluation.compared, weight=evaluation.gate_mixed_weight).means),
        "best_step": before.best.step,
        "best_score": float(gate_score(before.best.rollouts, evaluation)),
    }


def criteria_record(rollouts: Sequence[Rollout]) -> dict[str, float]:
    """Return the mean of each criterion over the measured rollouts, by name; empty where scores have none."""
    return {name: float(mean) for name, mean in criteria_means(rollouts).items()}
