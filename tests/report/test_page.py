"""What the page of a run shows, gathered from its files; how it looks is in `test_html.py`."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import EVENTFUL, read_json, write_run

from skillopt.api import train
from skillopt.errors import RunDirectoryError
from skillopt.report.page import NO_BASELINE, report_page
from skillopt.report.run_files import RunFiles


@pytest.fixture(scope="module")
def measured_again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose seed and best skill are measured again in fresh passes at the end."""
    settings = {**EVENTFUL, "evaluation.final_repeats": 1, "evaluation.repeats": 1}
    return asyncio.run(train(write_run(tmp_path_factory.mktemp("final"), settings=settings))).directory


def without(run: Path, tmp_path: Path, *names: str) -> RunFiles:
    copy = shutil.copytree(run, tmp_path / "run")
    for name in names:
        (copy / name).unlink()
    return RunFiles(copy)


def test_every_step_has_its_draws_and_every_edit_its_one_end(eventful: Path) -> None:
    """F57, and probe 11: the state of each edit, and the tasks that it came from."""
    page = report_page(RunFiles(eventful))
    records = read_json(eventful / "history.json")
    assert [step.point.step for step in page.steps] == [record["step"] for record in records[1:]]
    for step in page.steps:
        assert len(step.draws) == 1 + len(step.record["redraws"])
        counted = step.draws[0]
        assert (counted.action, counted.reason) == (step.record["action"], step.record["reason"])
        states = [edit.status for edit in counted.edits]
        assert states.count("applied") == step.record["edits"]["applied"]
        assert states.count("over_budget") == step.record["edits"]["over_budget"]
        assert all(edit.task_ids for edit in counted.edits)
        for draw, told in zip(step.draws[1:], step.record["redraws"], strict=True):
            assert (draw.action, draw.reason) == (told["action"], told["reason"])


def test_what_a_candidate_changes_is_shown_against_the_skill_it_was_made_from(eventful: Path) -> None:
    for step in report_page(RunFiles(eventful)).steps:
        change = step.draws[0].change
        assert change is not None
        assert bool(change.lines) == (step.record["action"] not in ("skip_no_change", "skip_no_patches"))


def test_seed_and_best_are_compared_on_both_splits_with_the_tasks_that_changed(eventful: Path) -> None:
    files = RunFiles(eventful)
    assert files.summary is not None
    for part, split in zip(report_page(files).splits, ("selection", "test"), strict=True):
        assert part.seed == files.summary[split]["seed"]["shown"]
        assert part.best == files.summary[split]["best"]["shown"]
        assert part.difference == f"{100 * files.summary[f'{split}_delta_hard']:+.1f} points"
        assert part.flips is not None and part.flips.fixed
    test = report_page(files).splits[1].flips
    assert test is not None
    gained = len(test.fixed) - len(test.broken)
    assert gained == pytest.approx(files.summary["test_delta_hard"] * files.summary["test_delta_tasks"])


def test_fresh_passes_are_what_is_compared_where_they_are_what_is_reported(measured_again: Path) -> None:
    files = RunFiles(measured_again)
    assert files.summary is not None and files.summary["final"]["passes"], "the run measures again"
    told = report_page(files).splits[0].flips
    assert told is not None
    fresh = {row.id: row.hard for row in files.rollouts("selection_eval_final")}
    seed = {row.id: row.hard for row in files.rollouts("selection_eval_final_baseline")}
    assert {flip.task_id for flip in told.fixed} == {task for task in fresh if fresh[task] and not seed[task]}


def test_a_best_skill_that_is_the_seed_is_compared_with_nothing(eventful: Path, tmp_path: Path) -> None:
    files = without(eventful, tmp_path)
    summary: dict[str, Any] = {**read_json(eventful / "summary.json"), "best_step": 0}
    (files.directory / "summary.json").write_text(json.dumps(summary), "utf-8")
    told = [(part.difference, part.flips) for part in report_page(files).splits]
    assert told == [("the best skill is the seed", None)] * 2


def test_every_epoch_has_what_followed_it(eventful: Path) -> None:
    page = report_page(RunFiles(eventful))
    assert [epoch.epoch for epoch in page.epochs] == [2, 3, 4]
    assert all(epoch.slow_update and epoch.slow_update.pairs and epoch.meta_skill for epoch in page.epochs)
    assert page.epochs[0].flips is not None, "its guidance went to the gate"


def test_the_page_says_how_the_run_ended_and_what_limits_its_result(eventful: Path) -> None:
    page = report_page(RunFiles(eventful))
    assert page.state == "improved"
    assert page.ending.startswith("improved; selection ")
    few = next(finding for finding in page.findings if finding.kind == "few_tasks")
    assert few.text.startswith("The selection split has 8 tasks: "), "each of them was measured twice"
    assert dict(page.models)["optimizer"].startswith("simulated:optimizer")


def test_a_run_without_an_end_has_a_page_and_no_diagnosis(eventful: Path, tmp_path: Path) -> None:
    page = report_page(without(eventful, tmp_path, "summary.json", "ledger.csv"))
    assert (page.state, page.splits, page.findings, page.spending) == ("", (), (), ())
    assert page.ending.startswith("no end is recorded")
    assert page.simulated, "the models' names say so"
    assert len(page.steps) == 8 and page.totals


def test_a_run_that_ended_before_its_baseline_has_a_page(eventful: Path, tmp_path: Path) -> None:
    files = without(eventful, tmp_path, "history.json")
    kept = ("state", "message", "exit_code", "simulated", "models", "data")
    early = {**{name: read_json(eventful / "summary.json")[name] for name in kept}, "state": "provider_failed"}
    (files.directory / "summary.json").write_text(json.dumps(early), "utf-8")
    page = report_page(files)
    assert (page.state, page.ending, page.course, page.steps) == ("provider_failed", NO_BASELINE, None, ())


def test_a_file_that_cannot_be_read_is_named(eventful: Path, tmp_path: Path) -> None:
    files = without(eventful, tmp_path)
    (files.directory / "steps/step_0002/merged_patch.json").write_text("{", "utf-8")
    with pytest.raises(RunDirectoryError, match=r"step_0002.merged_patch\.json"):
        report_page(files)
