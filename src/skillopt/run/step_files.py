"""The readable side of a step: trajectories, patches, merged and ranked edits, edit report, candidate.

Everything here is a view of what the evidence holds. Task ids are never used raw as file names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from skillopt.results import ReplyTrouble, Step
from skillopt.run.appendix_records import appendix_notes_json
from skillopt.run.trajectory_pages import trajectory_page
from skillopt.run.update_records import decision_json
from skillopt.text_files import safe_name, write_json_atomically, write_text_atomically
from skillopt.types import (
    Copy,
    Discarded,
    Edit,
    EditOutcome,
    EditState,
    Patch,
    Rewrite,
    RewriteOutcome,
    Rollout,
    Vetting,
)


def write_draw_files(directory: Path, step: Step) -> None:
    """Write what the stages after the rollout made of a step's trajectories."""
    if step.decision.rollouts:
        write_rollouts(directory / "selection_eval", step.decision.rollouts)
    if step.decision.remeasured:
        write_rollouts(directory / "selection_eval_again", step.decision.remeasured)
    for number, patch in enumerate(step.patches):
        write_json_atomically(directory / "patches" / f"patch_{number:03d}_{patch.source_type}.json", patch_json(patch))
    write_json_atomically(
        directory / "dropped_replies.json", [_dropped_json(trouble) for trouble in step.troubles if trouble.dropped]
    )
    write_json_atomically(directory / "merged_patch.json", patch_json(step.merged))
    write_json_atomically(
        directory / "ranked_edits.json",
        {
            "reasoning": step.selected.reasoning,
            "edits": [_edit_json(edit) for edit in step.selected.edits],
            "over_budget": [_outcome_json(outcome) for outcome in step.selected.over_budget],
        },
    )
    write_json_atomically(
        directory / "edit_apply_report.json", [_outcome_json(outcome) for outcome in step.candidate.outcomes]
    )
    write_json_atomically(directory / "memorised.json", memorised_rows(step))
    if step.candidate.notes:
        write_json_atomically(directory / "appendix_notes.json", appendix_notes_json(step.candidate))
    if step.lr_decision is not None:
        write_json_atomically(directory / "lr_decision.json", decision_json(step.lr_decision))
    if step.candidate.rewrites:
        rewrites = [_rewrite_outcome_json(outcome) for outcome in step.candidate.rewrites]
        write_json_atomically(directory / "rewrite_result.json", rewrites)
    write_text_atomically(directory / "candidate_skill.md", step.candidate.skill.text)


def memorised_rows(step: Step) -> list[dict[str, Any]]:
    """Return each passage that a step's edits copy from training tasks, a row each.

    `edit` is the edit's number, from 0, in edit_apply_report.json; null for one that was refused ahead of it, for a
    reminder, and for a rewrite of the whole skill.
    """
    refused = [(None, EditState.MEMORISED, entry.copies) for entry in step.merged.discarded if entry.copies]
    refused += [(None, outcome.state, outcome.copies) for outcome in step.candidate.rewrites]
    refused += [(None, note.state or EditState.INVALID, note.copies) for note in step.candidate.notes]
    looked_at = [(number, outcome.state, outcome.copies) for number, outcome in enumerate(step.candidate.outcomes)]
    return [
        {"edit": number, "status": state.value, **copy_json(copy)}
        for number, state, copies in (*looked_at, *refused)
        for copy in copies
    ]


def copy_json(copy: Copy) -> dict[str, str]:
    """Return a passage that was copied from a task as a JSON object."""
    return {"task_id": copy.task_id, "ngram": copy.text}


def write_rollouts(directory: Path, rollouts: Sequence[Rollout]) -> None:
    """Write what a skill did on tasks: one row a task in results.json, and each trajectory as a page of its own."""
    write_json_atomically(directory / "results.json", [rollout_row(rollout) for rollout in rollouts])
    for rollout in rollouts:
        if rollout.trajectory is not None and rollout.score is not None:
            number = f".{rollout.repeat}" if rollout.repeat else ""
            page = directory / "trajectories" / f"{safe_name(rollout.task.id)}{number}.md"
            write_text_atomically(page, trajectory_page(rollout), durable=False)


def rollout_row(rollout: Rollout) -> dict[str, Any]:
    """Return a rollout as a row; one that was not measured has a reason in place of scores."""
    row: dict[str, Any] = {"id": rollout.task.id, "category": rollout.task.category, "repeat": rollout.repeat}
    if rollout.failure is not None:
        return {**row, "status": rollout.failure.kind, "failure": asdict(rollout.failure)}
    assert rollout.score is not None and rollout.trajectory is not None, "measured rollouts have both"
    return {
        **row,
        "status": "ok",
        "hard": rollout.score.hard,
        "soft": rollout.score.soft,
        **({"criteria": dict(rollout.score.criteria)} if rollout.score.criteria else {}),
        "predicted_answer": rollout.score.predicted,
        "fail_reason": "" if rollout.score.hard else rollout.score.feedback,
        "n_turns": sum(turn.role == "assistant" for turn in rollout.trajectory.turns),
        "finish_reason": rollout.trajectory.finish_reason,
        "response": rollout.trajectory.output,
    }


def patch_json(patch: Patch) -> dict[str, Any]:
    """Return a patch as a JSON object under the public names."""
    return {
        "source_type": patch.source_type,
        "merge_level": patch.merge_level,
        "task_ids": list(patch.task_ids),
        "reasoning": patch.reasoning,
        "edits": [_edit_json(edit) for edit in patch.edits],
        "discarded": [_discarded_json(entry) for entry in patch.discarded],
        **({"skill_candidates": [_rewrite_json(one) for one in patch.rewrites]} if patch.rewrites else {}),
    }


def _edit_json(edit: Edit) -> dict[str, Any]:
    return {
        "op": edit.operation.value,
        "target": edit.target,
        "content": edit.content,
        "support_count": edit.support_count,
        "source_type": edit.source_type,
        "merge_level": edit.merge_level,
        "task_ids": list(edit.task_ids),
    }


def _outcome_json(outcome: EditOutcome) -> dict[str, Any]:
    return {
        "status": outcome.state.value,
        "detail": outcome.detail,
        "repaired": outcome.repaired,
        **({"vetting": _vetting_json(outcome.vetting)} if outcome.vetting else {}),
        **_edit_json(outcome.edit),
    }


def _vetting_json(vetting: Vetting) -> dict[str, Any]:
    after = None if vetting.after is None else float(vetting.after)
    return {"task_ids": list(vetting.task_ids), "before": float(vetting.before), "after": after}


def _rewrite_outcome_json(outcome: RewriteOutcome) -> dict[str, Any]:
    return {"status": outcome.state.value, "detail": outcome.detail, **_rewrite_json(outcome.rewrite)}


def _rewrite_json(rewrite: Rewrite) -> dict[str, Any]:
    return {
        "source_type": rewrite.source_type,
        "task_ids": list(rewrite.task_ids),
        "reasoning": rewrite.reasoning,
        "change_summary": list(rewrite.change_summary),
        "new_skill": rewrite.text,
    }


def _dropped_json(trouble: ReplyTrouble) -> dict[str, Any]:
    return {
        "stage": trouble.place.stage,
        "index": trouble.place.index,
        "asked_again": trouble.asked_again,
        "reason": trouble.dropped,
        "reply": trouble.excerpt,
    }


def _discarded_json(entry: Discarded) -> dict[str, Any]:
    return {"status": entry.state.value, "detail": entry.detail, "entry": entry.entry}
