"""Two runs in a terminal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Finished
from tests.support.runs import read_json

from skillopt.cli.run_difference import show_flips, show_run_difference
from skillopt.report.flips import Flip, Flips
from skillopt.report.run_difference import split_difference
from skillopt.report.run_files import RunFiles


def said_of(one: Path, two: Path, capsys: pytest.CaptureFixture[str]) -> str:
    show_run_difference(RunFiles(one), RunFiles(two))
    return capsys.readouterr().out


def test_settings_scores_spending_flips_and_skills_stand_side_by_side(
    finished: Finished, eventful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = finished.directory, eventful
    said = said_of(one, two, capsys)
    rows = {tuple(cell for cell in line.split("  ") if cell.strip()): line for line in said.splitlines()}
    cells = [[cell.strip() for cell in row] for row in rows]
    summaries = [read_json(run / "summary.json") for run in (one, two)]
    assert ["train.num_epochs", "2", "4"] in cells
    assert ["end", *(summary["state"] for summary in summaries)] in cells
    assert ["test, best skill", *(summary["test"]["best"]["shown"] for summary in summaries)] in cells
    used = [row for row in cells if row[:1] == ["used, target"]]
    assert all(f"{summary['total_usage']['target']['calls']} calls" in " ".join(used[0]) for summary in summaries)
    found = split_difference(RunFiles(one), RunFiles(two), "test")
    assert found is not None
    assert f"  A better, B worse: {len(found.flips.broken)}" in said
    assert "--- best skill of A\n+++ best skill of B\n" in said


def test_flips_are_named_with_the_exact_sign_test(capsys: pytest.CaptureFixture[str]) -> None:
    flips = Flips((Flip("a\x1b[2J", 0.0, 1.0),), (), same=3, open=0)
    show_flips(flips, two_sided_p=1.0)
    assert capsys.readouterr().out.splitlines() == [
        "  B better, A worse: 1: a\ufffd[2J",
        "  A better, B worse: 0",
        "  the same: 3; sign test p = 1 (two-sided)",
    ]


def test_runs_over_other_tasks_and_models_are_told_apart(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(finished.directory, tmp_path / "copy")
    for path in (one for one in copy.rglob("*") if one.suffix in {".json", ".jsonl", ".yaml"}):
        path.write_text(path.read_text("utf-8").replace("simulated", "of_someone"), "utf-8")
    said = said_of(copy, finished.directory, capsys)
    assert "SIMULATED MODELS in B: its numbers say nothing about real ones." in said
    assert "The runs share no task that both measured with their best skills." in said
    said = said_of(finished.directory, finished.directory, capsys)
    assert "SIMULATED MODELS: these numbers" in said and "share no task" not in said


def test_a_run_that_has_not_ended_is_compared_as_far_as_it_is(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(finished.directory, tmp_path / "copy")
    for name in ("summary.json", "best_skill.md"):
        (copy / name).unlink()
    (copy / "history.json").write_text(json.dumps(read_json(copy / "history.json")[:3]), "utf-8")
    said = said_of(copy, finished.directory, capsys)
    assert "SIMULATED" in said and "not ended" in said and "best skill of" not in said.replace("best skill of A", "")


def test_a_long_or_hostile_setting_is_cut_and_shown_as_text(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = shutil.copytree(finished.directory, tmp_path / "copy")
    (copy / "config.yaml").write_text('env:\n  prompt: "[red]\\e[2J' + "x" * 500 + '"\n', "utf-8")
    said = said_of(copy, finished.directory, capsys)
    assert "\x1b" not in said and "[red]" in said and "x" * 100 not in said


def test_long_settings_are_shown_from_where_they_differ(
    finished: Finished, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [shutil.copytree(finished.directory, tmp_path / name) for name in ("one", "two")]
    for run, end in zip(runs, ("y" * 99, "z"), strict=True):
        (run / "config.yaml").write_text(f"env:\n  prompt: {'x' * 200}{end}\n", "utf-8")
    said = said_of(*runs, capsys)
    assert f"...{'x' * 20}yyy" in said and f"...{'x' * 20}z " in said
