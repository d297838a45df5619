"""What the target did on a task, in a step and in a whole run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Finished
from tests.support.runs import read_json

from skillopt.cli.show_task import show_task, show_task_in_run
from skillopt.errors import UsageError
from skillopt.report.run_files import RunFiles
from skillopt.text_files import safe_name, write_json_atomically


def test_every_rollout_of_a_step_is_shown_with_its_page(eventful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The training batch, a fresh pass of the current skill, lost draws, the gate, the second measurement."""
    run, seen = RunFiles(eventful), set[str]()
    for step in (0, *run.steps):
        place = f"steps/step_{step:04d}" if step else "selection_eval_baseline"
        for results in sorted((eventful / place).rglob("results.json")):
            evaluation = results.parent.relative_to(eventful).as_posix()
            row = read_json(results)[0]
            show_task(run, step, row["id"])
            said = capsys.readouterr().out
            number = f".{row['repeat']}" if row["repeat"] else ""
            page = results.parent / "trajectories" / f"{safe_name(row['id'])}{number}.md"
            which = f", pass {row['repeat']}" if row["repeat"] else ""
            assert f"{evaluation}{which}: {'solved' if row['hard'] else 'failed'}" in said
            assert page.read_text("utf-8") in said
            seen.add(results.parent.name)
    assert {"rollout", "selection_eval", "selection_eval_baseline", "selection_eval_again"} <= seen


def test_the_course_of_a_task_through_the_run_is_a_line_for_each_time_it_came_up(
    eventful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = RunFiles(eventful)
    for place in (
        "selection_eval_baseline",
        "test_eval",
        "steps/step_0001/rollout",
        "slow_update/epoch_02/rollout_prev",
    ):
        task = read_json(eventful / place / "results.json")[0]["id"]
        show_task_in_run(run, task)
        said = capsys.readouterr().out
        rows = [
            row
            for results in eventful.rglob("results.json")
            for row in read_json(results)
            if row["id"] == task and "meta_skill" not in results.parts
        ]
        assert sum(word in line for line in said.splitlines() for word in ("  solved", "  failed")) == len(rows)
        assert place in said


def test_conversations_outside_of_steps_are_shown_with_the_course(
    eventful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No step has those of the test split and of what stands between epochs."""
    for place in ("test_eval", "slow_update/epoch_02/rollout_prev"):
        task = read_json(eventful / place / "results.json")[0]["id"]
        show_task_in_run(RunFiles(eventful), task)
        page = (eventful / place / "trajectories" / f"{safe_name(task)}.md").read_text("utf-8")
        assert page in capsys.readouterr().out


def test_rollouts_of_one_task_with_one_skill_are_told_apart(eventful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    task = read_json(eventful / "selection_eval_baseline" / "results.json")[0]["id"]
    show_task_in_run(RunFiles(eventful), task)
    said = capsys.readouterr().out
    assert "selection_eval_baseline  " in said and "selection_eval_baseline, pass 1" in said


def test_a_task_that_was_not_measured_says_why(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """F1"""
    copy = shutil.copytree(finished.directory, tmp_path / "copy")
    failure = {"kind": "timeout", "stage": "target", "error_type": "Slow", "message": "30 s\x1b[2J are over"}
    row = {"id": "lost", "category": "", "repeat": 0, "status": "timeout", "failure": failure}
    write_json_atomically(copy / "steps" / "step_0001" / "rollout" / "results.json", [row])
    show_task(RunFiles(copy), 1, "lost")
    said = capsys.readouterr().out
    assert "not measured (timeout)" in said and "Slow in target: 30 s\ufffd[2J are over" in said


def test_a_task_that_is_not_there_names_those_that_sound_like_it(finished: Finished) -> None:
    task = read_json(finished.directory / "selection_eval_baseline" / "results.json")[0]["id"]
    with pytest.raises(UsageError, match="did not come up") as caught:
        show_task(RunFiles(finished.directory), 0, task + "x")
    assert task in caught.value.hint
