"""The columns of a history as a table: which are always there, of which type, and which names mean the same.

A column is a field of history.json; a field within a field has both names with a dot between them. Names that the run
itself makes (stages, counters, criteria) are in no list: their columns hold numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypeAlias

ColumnType: TypeAlias = Literal["int64", "float64", "str", "object"]
"""As pandas names it. Numbers that a record may lack are floats, where a gap is NaN; objects are lists, a gap None."""


def _typed(kind: ColumnType, names: str) -> dict[str, ColumnType]:
    return dict.fromkeys(names.split(), kind)


ALWAYS: Mapping[str, ColumnType] = {
    **_typed("int64", "step epoch"),
    **_typed("float64", "step_in_epoch"),
    **_typed("str", "action reason"),
    **_typed(
        "float64",
        """
        train_acc val_acc val_soft val_solved val_n current_score best_score best_solved best_n best_step edit_budget
        candidate_val_acc candidate_val_acc_upper_bound candidate_gate_score candidate_gate_score_upper_bound
        candidate_remeasured_score selection_hard selection_soft selection_solved selection_n selection_unmeasured
        lost_by rollout_hard rollout_soft rollout_n rollout_solved rollout_unmeasured
        train_known_acc train_known_solved train_known_n
        n_patches n_failure_patches n_success_patches n_edits_proposed n_edits_merged n_edits_ranked
        edits_vetted edits_repaired memorised_passages gate_window pending_edits
        skill_len skill_tokens candidate_skill_len
        """,
    ),
    **_typed("str", "gate_metric current_origin best_origin candidate_hash sampling skill_update_mode lr_control_mode"),
    **_typed(
        "object",
        """
        support_counts broken accumulation_batches rewrite_change_summary rewrites gated_steps pending_steps redraws
        dropped_replies mended_replies
        """,
    ),
}
"""Every table has these, in this order and first, also one of a run that was stopped after its baseline."""

_SOMETIMES: Mapping[str, ColumnType] = {
    **_typed("str", "pair_policy guidance_digest memory_digest lr_decision.reasoning"),
    **_typed("object", "val_passes.scores candidate_passes.scores"),
}

_BETWEEN_EPOCHS = ("slow_update.", "meta_skill.")
"""What these hold has the names and the types of a step's own fields."""

NESTED = frozenset(
    ["lr_decision", "refresh", "sign_test", "criteria", "candidate_criteria", "val_passes", "candidate_passes"]
)
"""Fields that hold fields: null in their place is a gap in the columns of those, and no column of its own."""

_SYNONYMS: tuple[tuple[str, ...], ...] = (
    ("step", "global_step"),
    ("train_acc", "rollout_hard", "train_hard", "train_accuracy"),
    ("train_soft", "rollout_soft"),
    ("val_acc", "val_hard", "val_accuracy"),
    ("candidate_val_acc", "selection_hard", "candidate_hard"),
    ("candidate_val_soft", "selection_soft", "candidate_soft"),
    ("edit_budget", "learning_rate", "lr"),
    ("edits.applied", "edit_apply_summary.applied", "n_edits_applied"),
    ("edit_apply_summary.total", "n_edits_tried"),
    ("timing.gate_s", "timing.evaluate_s"),
    ("timing.wall_time_s", "wall_time_s"),
)
"""Each line is one value under the names of this product, of other tools of the method, and of its settings."""


def column_type(name: str) -> ColumnType | None:
    """Return the type that a column has in every table; None for a name that the run itself made."""
    for beginning in _BETWEEN_EPOCHS:
        name = name.removeprefix(beginning)
    return ALWAYS.get(name) or _SOMETIMES.get(name)


def synonyms(name: str) -> tuple[str, ...]:
    """Return the other names of a column's value, the more usual ones first."""
    return tuple(other for line in _SYNONYMS if name in line for other in line if other != name)
