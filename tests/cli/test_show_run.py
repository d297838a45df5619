"""A whole run in a terminal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Finished
from tests.support.runs import read_json

from skillopt.cli.progress import headline
from skillopt.cli.show_run import MOST_IDS, named, record_of, show_run
from skillopt.errors import RunDirectoryError, UsageError
from skillopt.events import StepCommitted
from skillopt.report.page import findings_of
from skillopt.report.run_files import RunFiles
from skillopt.report.worth import worth
from skillopt.text_files import write_json_atomically


def test_it_says_the_end_the_scores_and_each_step_in_a_line(
    finished: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    """F93: scores are counts."""
    show_run(RunFiles(finished.directory))
    said = capsys.readouterr().out
    summary, records = (read_json(finished.directory / f"{name}.json") for name in ("summary", "history"))
    assert said.startswith("run\nSIMULATED MODELS: ")
    assert f"{summary['state']}: {summary['message']}" in said
    for split in ("selection", "test"):
        assert summary[split]["seed"]["shown"] in said and summary[split]["best"]["shown"] in said
    found = worth(RunFiles(finished.directory))
    assert found is not None and f"{found.headline}\n{found.numbers}\n" in said
    for record in records:
        assert headline(StepCommitted(record)) in said.splitlines()
    assert f"--step {summary['best_step'] or len(records) - 1} --edit K" in said


def test_the_step_that_leads_on_is_that_of_the_skill_chosen_in_the_end(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(finished.directory, tmp_path / "copy")
    write_json_atomically(copy / "summary.json", {**read_json(copy / "summary.json"), "best_step": 2})
    show_run(RunFiles(copy))
    assert f"{copy} --step 2 --task ID" in capsys.readouterr().out


def test_what_limits_the_result_is_said(eventful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = RunFiles(eventful)
    show_run(files)
    said, findings = capsys.readouterr().out, findings_of(files)
    assert findings
    for finding in findings:
        assert f"- {finding.text}\n  {finding.advice}" in said


def test_stages_between_epochs_stand_below_their_step(eventful: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_run(RunFiles(eventful))
    lines = capsys.readouterr().out.splitlines()
    slow = [number for number, line in enumerate(lines) if line.startswith("  slow update (epoch ")]
    assert len(slow) == 3 and all(lines[number - 1].startswith("step ") for number in slow)


def cut_before_the_end(run: Path, tmp_path: Path, *, without: tuple[str, ...] = ()) -> Path:
    """A copy whose process was killed while it played a step."""
    copy = shutil.copytree(run, tmp_path / "copy")
    log = copy / "events.jsonl"
    lines = log.read_text("utf-8").splitlines(keepends=True)
    ends = [number for number, line in enumerate(lines) if json.loads(line)["event"] == "StageProgress"]
    log.write_text("".join(lines[: ends[-1] + 1]) + '{"event": "Sta', "utf-8")
    for name in without:
        (copy / name).unlink()
    return copy


def test_a_run_that_was_killed_says_how_far_it_came(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever summary an earlier start has left."""
    show_run(RunFiles(cut_before_the_end(finished.directory, tmp_path, without=("summary.json",))))
    said = capsys.readouterr().out
    assert "not ended: still going, or killed, after" in said and ", at test 16/16" in said
    assert "SIMULATED MODELS: " in said, "the models' names say so, where no end does"
    assert "step 1 (epoch 1)" in said


def test_a_run_without_a_baseline_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "events.jsonl").write_text("", "utf-8")
    run = RunFiles(tmp_path)
    show_run(run)
    assert capsys.readouterr().out.split() == [tmp_path.name, "nothing", "has", "begun", "yet"]
    with pytest.raises(UsageError, match="has no step 0") as caught:
        record_of(run, 0)
    assert "baseline" in caught.value.hint


def test_no_command_is_named_that_would_not_work(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A step without an edit has none to look at."""
    copy = shutil.copytree(finished.directory, tmp_path / "copy")
    for step in RunFiles(copy).steps:
        shutil.rmtree(copy / "steps" / f"step_{step:04d}")
    show_run(RunFiles(copy))
    said = capsys.readouterr().out
    assert "--task ID" in said and "--edit" not in said


@pytest.mark.parametrize("record", [{"step": 1}, {"step": 1, "val_solved": "x"}, {}])
def test_a_record_that_lacks_what_each_has_is_one_message(tmp_path: Path, record: dict[str, object]) -> None:
    (tmp_path / "history.json").write_text(json.dumps([record]), "utf-8")
    with pytest.raises(RunDirectoryError, match="nothing that this version of SkillOpt can read") as caught:
        show_run(RunFiles(tmp_path))
    assert "once more" in caught.value.hint


def test_many_ids_are_named_up_to_a_number_and_hostile_ones_as_text() -> None:
    assert named(["a", "b\x1b[2J"]) == "a, b\ufffd[2J"
    assert named([str(number) for number in range(MOST_IDS + 3)]).endswith(f", {MOST_IDS - 1} and 3 more")
