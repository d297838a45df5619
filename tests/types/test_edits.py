"""What the optimizer proposes, and how each proposal ends."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from skillopt.types import Edit, EditOperation, EditState


def test_the_operations_have_the_public_names() -> None:
    assert [operation.value for operation in EditOperation] == [
        "append",
        "insert_after",
        "insert_before",
        "replace",
        "delete",
    ]


def test_an_edit_ends_in_one_of_these_states() -> None:
    """F57."""
    assert {state.value for state in EditState} == {
        "applied",
        "unmatched",
        "ambiguous",
        "protected",
        "duplicate",
        "invalid",
        "over_budget",
        "memorised",
        "vetted_out",
        "suggested",
    }


def test_an_edit_stands_for_itself_until_it_is_merged() -> None:
    edit = Edit(EditOperation.APPEND, content="x")
    assert (edit.support_count, edit.merge_level, edit.task_ids) == (1, 0, ())


def test_a_stage_cannot_change_an_edit_of_another() -> None:
    with pytest.raises(FrozenInstanceError):
        Edit(EditOperation.APPEND, content="x").content = "y"  # type: ignore[misc]
