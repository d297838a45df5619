"""The stages between epochs in numbers: what they add to the record of the epoch's last step in history.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.digests import text_digest
from skillopt.models.meter import MeterRow
from skillopt.results import MetaSkill, ReplyTrouble, SlowUpdate
from skillopt.run.history import Record, judged, replies, split_scores, standing
from skillopt.run.spending_records import by_role_and_stage, spending
from skillopt.run.stage_clock import with_public_names
from skillopt.skill.size import estimate_tokens
from skillopt.state import State
from skillopt.types import Comparison

CHANGED_BETWEEN_EPOCHS = frozenset(
    {
        "val_acc",
        "val_soft",
        "val_solved",
        "val_n",
        "gate_metric",
        "current_score",
        "current_origin",
        "best_score",
        "best_solved",
        "best_n",
        "best_step",
        "best_origin",
        "val_passes",
        "criteria",
        "skill_len",
        "skill_tokens",
        "usage",
        "tokens",
        "total_usage",
        "timing",
        "slow_update",
        "meta_skill",
    }
)
"""The fields of a step's record that a stage between epochs adds or writes anew."""


def with_epoch_stage(
    record: Record,
    after: State,
    stage: str,
    value: Record,
    *,
    evaluation: EvaluationSettings,
    rows: Sequence[MeterRow],
    timing: Mapping[str, float],
) -> Record:
    """Return the record of an epoch's last step with a stage that followed it.

    What the record says of the current and the best skill, of sizes and of spending is said of the state that the stage
    left, since that is what training goes on with.
    """
    used = [row for row in rows if row.step == after.step and row.stage == stage]
    return {
        **record,
        **standing(evaluation, after),
        **spending(rows, step=after.step),
        stage: {**value, "usage": by_role_and_stage(used)},
        "timing": with_public_names({**record["timing"], **timing}),
    }


def slow_update_record(
    evaluation: EvaluationSettings, result: SlowUpdate, *, counters: Mapping[str, int], troubles: Sequence[ReplyTrouble]
) -> Record:
    """Return what history.json says of a slow update."""
    decision = result.decision
    return {
        "action": decision.action.value,
        "reason": decision.reason,
        **comparison_record(result.comparison),
        "guidance_digest": text_digest(result.guidance)[:16] if result.guidance else None,
        "guidance_tokens": estimate_tokens(result.guidance),
        "memorised_passages": len(result.copies),
        "current_score": float(decision.current_score),
        **judged(evaluation, decision, result.candidate),
        "gate_metric": str(evaluation.compared),
        "counters": dict(sorted(counters.items())),
        **replies(troubles),
    }


def meta_skill_record(result: MetaSkill, *, counters: Mapping[str, int], troubles: Sequence[ReplyTrouble]) -> Record:
    """Return what history.json says of a meta skill; the memory itself stands in a file of its own."""
    return {
        "action": result.action,
        "reason": result.reason,
        **comparison_record(result.look_back.comparison),
        "memory_digest": text_digest(result.memory)[:16] if result.memory else None,
        "memory_tokens": estimate_tokens(result.memory),
        "counters": dict(sorted(counters.items())),
        **replies(troubles),
    }


def comparison_record(comparison: Comparison) -> Record:
    """Return how the two skills compare on the sampled training tasks."""
    return {
        "prev_hard": split_scores(comparison.previous)["hard"],
        "curr_hard": split_scores(comparison.current)["hard"],
        "pairs": comparison.counts,
        "pairs_shown": len(comparison.shown),
        "pair_policy": comparison.policy,
    }
