"""Records of history.json and the events that carry them, with as many fields as their readers need."""

from __future__ import annotations

from typing import Any

from skillopt.events import RunStarted, Spent, StepCommitted

NOTHING_USED = {"fresh_tokens": 0, "cached_tokens": 0, "output_tokens": 0, "calls": 0, "dollars": 0.0}


def record(step: int, **more: Any) -> dict[str, Any]:
    """The record of a step that was rejected, or of the baseline, with the fields given."""
    baseline = {"action": "baseline", "reason": "the seed skill on the selection split", "train_acc": None, "epoch": 0}
    played: dict[str, Any] = {
        "action": "reject",
        "reason": "not strictly higher",
        "train_acc": 0.25,
        "epoch": 2,
        "edits": {},
        "edit_budget": 4,
        "candidate_gate_score_upper_bound": None,
        "selection_soft": None,
        "selection_solved": 0,
        "selection_n": 0,
        "selection_unmeasured": 0,
        "sign_test": None,
        "lost_by": None,
        "rollout_unmeasured": 0,
        "train_known_acc": 0.25,
        "train_known_solved": 3,
        "train_known_n": 12,
        "n_patches": 0,
        "n_failure_patches": 0,
        "n_success_patches": 0,
        "n_edits_proposed": 0,
        "n_edits_merged": 0,
        "n_edits_ranked": 0,
    }
    return {
        "step": step,
        **(played if step else baseline),
        "val_acc": 0.375,
        "val_soft": 0.375,
        "val_passes": {"n": 1, "mean": 0.375, "spread": None},
        "current_origin": "initial_skill",
        "best_origin": "step_0003",
        "val_solved": 3,
        "val_n": 8,
        "gate_metric": "hard",
        "current_score": 0.375,
        "best_score": 0.875,
        "best_solved": 7,
        "best_step": 3,
        "rollout_solved": 4,
        "rollout_n": 12,
        "skill_tokens": 120,
        "candidate_gate_score": None,
        "total_usage": {"target": NOTHING_USED, "optimizer": NOTHING_USED},
        **more,
    }


def edit(text: str, status: str = "applied", operation: str = "append") -> dict[str, str]:
    """An edit in short."""
    return {"operation": operation, "status": status, "text": text}


def committed(step: int, *edits: dict[str, str], **more: Any) -> StepCommitted:
    """The event that a step is final."""
    return StepCommitted(record(step, **more), list(edits))


def started(**more: Any) -> RunStarted:
    """The event that a run of ten steps begins."""
    given: dict[str, Any] = {
        "run_directory": "run",
        "total_steps": 10,
        "num_epochs": 2,
        "tasks": {"train": 5, "val": 3},
        "models": {"target": "a:b", "optimizer": "c:d"},
        "simulated": False,
    }
    return RunStarted(**{**given, **more})


def spent(used: int, paid: int, *, tokens: int = 1234, dollars: float | None = 0.5) -> Spent:
    """Running totals: the target's calls, and one of the optimizer that an earlier start paid."""
    return Spent(
        paid_calls={"target": paid, "optimizer": 0},
        used_calls={"target": used, "optimizer": 1},
        used_tokens={"target": tokens, "optimizer": 0},
        dollars={"target": dollars, "optimizer": 0.25},
        billed_calls={"target": paid, "optimizer": 1},
        billed_tokens={"target": 10 * paid, "optimizer": 5},
        billed_dollars={"target": dollars, "optimizer": 0.25},
    )
