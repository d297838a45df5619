"""What a step's record says of its batches, its edit budget and its rewrites, under the public names."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.config.schema import Config
from skillopt.evaluation.scores import solved
from skillopt.results import LearningRateDecision, Step
from skillopt.state import State
from skillopt.types import JsonValue, Patch, Rollout


def update_record(config: Config, before: State, step: Step) -> dict[str, JsonValue]:
    """Return how the candidate was made: mode, budget, who set it and why, and what was rewritten."""
    rewrite = step.candidate.rewrite
    return {
        "skill_update_mode": config.optimizer.skill_update_mode,
        "lr_control_mode": "none" if config.optimizer.whole_rewrites else config.optimizer.budget_control,
        "edit_budget": edit_budget(config, before, step),
        "lr_decision": None if step.lr_decision is None else decision_json(step.lr_decision),
        "rewrite_change_summary": None if rewrite is None else list(rewrite.change_summary),
        "rewrites": [
            {"status": outcome.state.value, "detail": outcome.detail, "source_type": outcome.rewrite.source_type}
            for outcome in step.candidate.rewrites
        ],
    }


def edit_budget(config: Config, before: State, step: Step) -> int | None:
    """Return how many edits could survive; None where there was no limit."""
    if config.optimizer.whole_rewrites or config.optimizer.budget_control == "none":
        return None
    return before.budget if step.lr_decision is None else step.lr_decision.budget


def decision_json(decision: LearningRateDecision) -> dict[str, JsonValue]:
    """Return the budget that the optimizer named, or the schedule's in its place."""
    return {
        "budget": decision.budget,
        "proposed": decision.proposed,
        "scheduled": decision.scheduled,
        "available": decision.available,
        "fallback": decision.proposed is None,
        "reasoning": decision.reasoning,
    }


def accumulation_batches(config: Config, step: Step, *, step_in_epoch: int) -> list[JsonValue]:
    """Return how each batch of the step went; `batch_idx` counts the epoch's batches from 0."""
    size, first = config.train.batch_size, step_in_epoch * config.train.accumulation
    starts = range(0, len(step.rollouts), size)
    return [
        _batch(first + number, step.rollouts[start : start + size], step.patches) for number, start in enumerate(starts)
    ]


def _batch(index: int, rollouts: Sequence[Rollout], patches: Sequence[Patch]) -> JsonValue:
    ids = {rollout.task.id for rollout in rollouts}
    own = [patch.source_type for patch in patches if ids.issuperset(patch.task_ids)]
    count, measured = solved(rollouts)
    credit = sum(rollout.score.soft for rollout in rollouts if rollout.score is not None)
    return {
        "batch_idx": index,
        "n_envs": len(rollouts),
        "hard": count / measured if measured else None,
        "soft": credit / measured if measured else None,
        "n_failure_patches": own.count("failure"),
        "n_success_patches": own.count("success"),
    }
