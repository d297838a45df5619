"""A step in words."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.report.run_files import RunFiles
from skillopt.report.step_words import reflections, stages, verdict
from skillopt.report.stored_rows import EditRow, PatchRow, RolloutRow


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"hard": 1, "soft": 1.0, "status": "ok"}, "solved"),
        ({"hard": 0, "soft": 0.25, "status": "ok"}, "failed, partial credit 0.250"),
        ({"status": "error"}, "not measured (error)"),
    ],
)
def test_a_verdict_is_a_few_words(row: dict[str, object], words: str) -> None:
    assert verdict(RolloutRow.model_validate({"id": "t", **row})) == words


def test_the_stages_say_what_each_made_in_the_method_s_order(eventful: Path) -> None:
    files = RunFiles(eventful)
    for record in files.records[1:]:
        told = dict(stages(record))
        assert list(told) == ["rollout", "reflect", "aggregate", "select", "update", "gate"]
        assert told["rollout"].startswith(f"{record['rollout_solved']}/{record['rollout_n']} solved")
        assert f"patches: {record['n_patches']} " in told["reflect"]
        assert told["gate"] == "nothing was measured" or f"{record['selection_solved']}/" in told["gate"]
    assert any(", stopped early" in dict(stages(record))["gate"] for record in files.records[1:])


def test_rewrites_are_counted_where_they_take_the_place_of_edits(eventful: Path) -> None:
    ends = [{"status": "applied"}, {"status": "over_budget"}, {"status": "over_budget"}]
    record = {**RunFiles(eventful).records[1], "edits": {}, "rewrites": ends}
    told = dict(stages({**record, "skill_update_mode": "full_rewrite_minibatch"}))
    assert list(told) == ["rollout", "reflect", "update", "gate"]
    assert told["reflect"].endswith("; rewrites: 3")
    assert told["update"] == "1 rewrite applied, 2 rewrite over budget"
    told = dict(stages({**record, "edits": {"suggested": 4}, "rewrites": ends[:1]}))
    assert told["update"] == "4 suggested, 1 rewrite applied"
    assert dict(stages({**record, "rewrites": []}))["update"] == "no edit"


def test_a_gate_that_measured_nothing_says_so(eventful: Path) -> None:
    """F9."""
    record = {**RunFiles(eventful).records[1], "candidate_gate_score": None, "candidate_gate_score_upper_bound": None}
    assert dict(stages(record))["gate"] == "nothing was measured"


def test_an_edit_came_from_the_patches_that_hold_it_else_from_those_of_its_tasks() -> None:
    edit = EditRow(op="append", content="- be brief", task_ids=("a",))
    own = PatchRow(source_type="failure", task_ids=("b",), edits=(edit,))
    of_its_task = PatchRow(source_type="failure", task_ids=("a", "c"))
    other = PatchRow(source_type="success", task_ids=("d",))
    assert reflections(edit, (of_its_task, own, other)) == (own,)
    assert reflections(edit, (of_its_task, other)) == (of_its_task,)
