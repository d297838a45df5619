"""What stands in the files of a run directory, as frozen values."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from skillopt.report.stored_rows import EditOutcomeRow, RolloutRow


def test_fields_of_a_later_version_are_left_out() -> None:
    assert RolloutRow.model_validate({"id": "t1", "status": "ok", "mood": "good"}) == RolloutRow(id="t1", status="ok")


def test_a_task_without_a_score_is_not_measured() -> None:
    assert not RolloutRow(id="t1", status="timeout").measured
    assert RolloutRow(id="t1", status="ok", hard=0, soft=0.0).measured, "a score of 0 is a score"


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValidationError, match="finite"):
        RolloutRow(id="t1", status="ok", hard=0, soft=float("nan"))


def test_an_outcome_is_an_edit_with_its_end() -> None:
    outcome = EditOutcomeRow.model_validate({"op": "append", "content": "- x", "status": "applied", "task_ids": ["t1"]})
    assert (outcome.op, outcome.task_ids, outcome.status, outcome.vetting) == ("append", ("t1",), "applied", None)
