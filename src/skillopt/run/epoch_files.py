"""The readable side of the stages between epochs, under the public names. Views of what the evidence holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from skillopt.results import MetaSkill, SlowUpdate
from skillopt.run.history import Record
from skillopt.run.step_files import copy_json, rollout_row, write_rollouts
from skillopt.text_files import write_json_atomically, write_text_atomically
from skillopt.types import Comparison


def write_slow_update_files(directory: Path, result: SlowUpdate, record: Record) -> None:
    """Write what a slow update looked back on, wrote and came to."""
    write_comparison_files(directory, result.comparison)
    if result.decision.rollouts:
        write_rollouts(directory / "selection_eval", result.decision.rollouts)
    if result.decision.remeasured:
        write_rollouts(directory / "selection_eval_again", result.decision.remeasured)
    write_text_atomically(directory / "candidate_skill.md", result.candidate.text)
    told: dict[str, Any] = {"reasoning": result.reasoning, "slow_update_content": result.guidance}
    told["memorised"] = [copy_json(copy) for copy in result.copies]
    write_json_atomically(directory / "slow_result.json", {**told, **record})


def write_meta_skill_files(directory: Path, result: MetaSkill, record: Record) -> None:
    """Write what the optimizer noted for itself; the comparison too, where no slow update shows it already."""
    if result.own_rollouts:
        write_comparison_files(directory, result.look_back.comparison)
    told = {"reasoning": result.reasoning, "meta_skill_content": result.content, "memory": result.memory}
    write_json_atomically(directory / "meta_skill_result.json", {**told, **record})


def write_comparison_files(directory: Path, comparison: Comparison) -> None:
    """Write what both skills did, and the pairs that the optimizer was shown."""
    write_rollouts(directory / "rollout_prev", comparison.previous)
    write_rollouts(directory / "rollout_curr", comparison.current)
    shown = frozenset(pair.task.id for pair in comparison.shown)
    pairs: list[dict[str, Any]] = [
        {
            "id": pair.task.id,
            "category": pair.category.value,
            "shown": pair.task.id in shown,
            "prev": _scores(rollout_row(pair.previous)),
            "curr": _scores(rollout_row(pair.current)),
        }
        for pair in comparison.pairs
    ]
    write_json_atomically(directory / "comparison_pairs.json", pairs)


def _scores(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("hard", "soft", "predicted_answer", "fail_reason")}
