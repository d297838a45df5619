"""A step in a terminal, and one of its edits."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Finished
from tests.support.runs import read_json

from skillopt.cli.show_step import show_edit, show_step
from skillopt.errors import UsageError
from skillopt.report.run_files import RunFiles
from skillopt.text_files import write_json_atomically


def said_of(run: Path, step: int, capsys: pytest.CaptureFixture[str], edit: int | None = None, *, draw: int = 0) -> str:
    files = RunFiles(run)
    if edit is None:
        show_step(files, step)
    else:
        show_edit(files, step, edit, draw=draw)
    return capsys.readouterr().out


def test_a_step_shows_what_each_stage_made(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_of(finished.directory, 1, capsys)
    record = read_json(finished.directory / "history.json")[1]
    lines = {line.split()[0]: line for line in said.splitlines() if line.startswith(" ") and line.strip()}
    assert f"{record['rollout_solved']}/{record['rollout_n']} solved" in lines["rollout"]
    assert f"patches: {record['n_patches']}" in lines["reflect"]
    assert f"edits: {record['n_edits_merged']}" in lines["aggregate"]
    assert f"budget {record['edit_budget']}" in lines["select"]
    assert f"{record['edits']['applied']} applied" in lines["update"]
    assert f"{record['selection_solved']}/{record['selection_n']} solved" in lines["gate"]
    assert record["reason"] in said


def test_its_edits_have_their_end_their_tasks_and_a_number(
    finished: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    for step in RunFiles(finished.directory).steps:
        said = " ".join(said_of(finished.directory, step, capsys).split())
        report = read_json(finished.directory / "steps" / f"step_{step:04d}" / "edit_apply_report.json")
        for number, row in enumerate(report, start=1):
            assert f"{number} {row['status']}" in said
            assert all(task in said for task in row["task_ids"])


def test_the_tasks_that_the_candidate_fixed_and_broke_are_named(
    eventful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = RunFiles(eventful)
    for step in files.steps:
        said, flips = said_of(eventful, step, capsys), files.flips(step)
        if flips is None:
            assert "fixed" not in said
            continue
        for name, changed in (("fixed", flips.fixed), ("broken", flips.broken)):
            ids = ", ".join(flip.task_id for flip in changed) or "none"
            assert f"  {name} {len(changed)}: {ids}" in said.splitlines()


def test_draws_that_lost_ahead_of_the_one_that_counts_are_told(
    eventful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    records = read_json(eventful / "history.json")
    redrawn = [record for record in records if record.get("redraws")]
    assert redrawn, "the run has at least one"
    for record in redrawn:
        said = said_of(eventful, record["step"], capsys)
        assert f"draw 1, which lost: {record['redraws'][0]['action']}" in said
        lost, counts = (RunFiles(eventful).step(record["step"]).lost[0].edits, "the draw that counts:")  # type: ignore[union-attr]
        ahead = " ".join(said.partition(counts)[0].split())
        assert counts in said and all(edit.op in ahead for edit in lost)


def test_every_edit_that_a_step_made_can_be_shown_those_of_draws_that_lost_as_well(
    eventful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files, lost = RunFiles(eventful), 0
    for step in files.steps:
        left, record = files.step(step), files.records[step]
        assert left is not None
        for draw, told in enumerate(record.get("redraws") or (), start=1):
            edits = left.lost[draw - 1].edits
            for number, edit in enumerate(edits, start=1):
                said = said_of(eventful, step, capsys, number, draw=draw)
                assert said.startswith(f"edit {number} of draw {draw}, which lost, of step {step}: {edit.status}")
                assert all(f"  | {line}" in said for line in (edit.content or edit.target).splitlines())
                gate = f"the gate on all edits of the draw: {told['action']}, {told['reason']}"
                assert (gate in " ".join(said.split())) == (edit.status == "applied")
                lost += 1
            walk = f"--step {step} --draw {draw} --edit K"
            assert (walk in said_of(eventful, step, capsys)) == bool(edits)
    assert lost, "the run has at least one"


def test_an_edit_that_there_is_not_is_refused_with_those_that_there_are(
    eventful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = RunFiles(eventful)
    step = next(step for step in files.steps if (left := files.step(step)) and left.lost and left.lost[0].edits)
    left = files.step(step)
    assert left is not None
    for number, draw in ((99, 0), (99, 1), (1, 99)):
        with pytest.raises(UsageError, match=f"no edit {number}" + (f" of draw {draw}" if draw else "")) as refused:
            said_of(eventful, step, capsys, number, draw=draw)
        for words, count in (("", len(left.draw.edits)), ("--draw 1 ", len(left.lost[0].edits))):
            numbers = f"{words}--edit {'1' if count == 1 else f'1 to {count}'}"
            assert (numbers in str(refused.value.hint)) == bool(count)


def test_the_baseline_has_its_tasks(finished: Finished, capsys: pytest.CaptureFixture[str]) -> None:
    said = said_of(finished.directory, 0, capsys)
    rows = read_json(finished.directory / "selection_eval_baseline" / "results.json")
    failed = [row["id"] for row in rows if not row["hard"]]
    assert f"  failed {len(failed)}: {', '.join(failed)}" in said.splitlines()


def test_an_edit_is_shown_whole_with_where_it_came_from(eventful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = set[str]()
    for step in RunFiles(eventful).steps:
        place = eventful / "steps" / f"step_{step:04d}"
        rows = read_json(place / "edit_apply_report.json") + read_json(place / "ranked_edits.json")["over_budget"]
        for number, row in enumerate(rows, start=1):
            said = said_of(eventful, step, capsys, number)
            assert said.startswith(f"edit {number} of step {step}: {row['status']}")
            for text in (row["target"], row["content"]):
                assert all(f"  | {line}" in said for line in text.splitlines())
            assert all(f"  {task}: " in said for task in row["task_ids"])
            assert "reflection on" in said
            assert ("the gate on all edits of the step" in said) == (row["status"] == "applied")
            assert ("tried alone on" in said) == ("vetting" in row)
            shown.add(row["status"])
    assert {"applied", "vetted_out"} <= shown


def test_hostile_text_moves_no_cursor(finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = shutil.copytree(finished.directory, tmp_path / "copy")
    report = copy / "steps" / "step_0001" / "edit_apply_report.json"
    rows = read_json(report)
    rows[0] |= {"content": "[red]\x1b[2J</script>", "detail": "\x9b2J", "task_ids": ["t\x1b]0;"], "op": "\u202e"}
    write_json_atomically(report, rows)
    for edit in (None, 1):
        said = said_of(copy, 1, capsys, edit)
        assert "[red]\ufffd[2J</script>" in said.replace("\n", "")
        assert not {"\x1b", "\x9b", "\u202e"} & set(said)
