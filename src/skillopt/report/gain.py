"""What the seed and the best skill of a run did on the selection and the test split, and on which tasks they differ.

These are the rows that the scores at the run's end are counted from. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

from skillopt.report.course import Record
from skillopt.report.flips import Flips, Metric, flips
from skillopt.report.run_files import RunFiles
from skillopt.report.step_files import Rows

Part: TypeAlias = Literal["val", "test"]
"""The splits on which skills are compared; `val` is the selection split, which chose the best one."""

_FRESH = "selection_eval_final"


def seed_rows(run: RunFiles, part: Part) -> Rows:
    """Return what the seed did on a split; on the selection split in fresh passes, where the best skill has those."""
    if part == "test":
        return run.rollouts("test_eval_baseline")
    return run.rollouts(f"{_FRESH}_baseline") if run.rollouts(_FRESH) else run.selection("initial_skill")


def best_rows(run: RunFiles, part: Part) -> Rows:
    """Return what the best skill did on a split: on the test split, or at the gate that accepted it.

    With fresh passes after the last step, those count on the selection split; they chose nothing.
    """
    if part == "test":
        return run.rollouts("test_eval")
    return run.rollouts(_FRESH) or run.selection(best_origin(run))


def gained(run: RunFiles, part: Part) -> Flips | None:
    """Return the tasks on which the best skill did better and worse than the seed.

    On the selection split by the gate's metric, on the test split by whether a task was solved.

    Returns:
        None where one of them was not measured, and where the best skill is the seed.
    """
    before, after = seed_rows(run, part), best_rows(run, part)
    if not before or not after or best_origin(run) == "initial_skill":
        return None
    return flips(before, after, run.metric if part == "val" else Metric("hard"))


def best_origin(run: RunFiles) -> str:
    """Return where the best skill came from; with `evaluation.reselect` it may be chosen anew after the last step."""
    summary = run.summary or {}
    final: Record = summary.get("final") or {}
    if summary.get("best_step") == 0:
        return "initial_skill"
    if final.get("finalists"):
        for origin, made in _candidates(run.records):
            if made.get("candidate_hash") == summary["best_skill_hash"] and made["candidate_gate_score"] is not None:
                return origin
    return str(run.last_record.get("best_origin", ""))


def _candidates(records: Sequence[Record]) -> Iterator[tuple[str, Record]]:
    for record in records:
        yield f"step_{record['step']:04d}", record
        slow: Record | None = record.get("slow_update")
        if slow is not None:
            yield f"slow_update_epoch_{record['epoch']:02d}", slow
