"""Two runs side by side."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path

import pytest
from tests.support.runs import SMALL, read_json, write_run

from skillopt.api import train
from skillopt.evaluation.statistics import two_sided_p_value
from skillopt.report.end_words import made_by
from skillopt.report.run_difference import best_rows, setting_differences, split_difference, standing
from skillopt.report.run_files import RunFiles
from skillopt.report.worth import worth
from skillopt.text_files import write_json_atomically


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of one step on the tasks of the eventful one, whose target has no noise."""
    settings = {"train.num_epochs": 1, "train.batch_size": 16}
    return asyncio.run(train(write_run(tmp_path_factory.mktemp("short"), SMALL, settings=settings))).directory


def test_the_settings_that_differ_are_named_with_both_values(eventful: Path, short: Path) -> None:
    found = {one.key: one.values for one in setting_differences(RunFiles(eventful), RunFiles(short))}
    assert found["train.num_epochs"] == (4, 1) and found["evaluation.repeats"] == (2, 1)
    assert "train.seed" not in found
    assert list(found) == sorted(found)
    assert setting_differences(RunFiles(short), RunFiles(short)) == ()


def test_of_three_runs_each_has_its_value(eventful: Path, short: Path) -> None:
    found = setting_differences(RunFiles(short), RunFiles(eventful), RunFiles(short))
    assert ("train.num_epochs", (1, 4, 1)) in [(one.key, one.values) for one in found]


def test_what_a_run_came_to_is_told_with_its_counts(eventful: Path, short: Path, tmp_path: Path) -> None:
    """F93: scores as k/n; of a run that goes on, what the last record says."""
    for run in (eventful, short):
        summary, told = read_json(run / "summary.json"), standing(RunFiles(run))
        assert told["best skill made by"] == made_by(summary["best_origin"])
        assert told["end"] == summary["state"] and told["steps"] == str(summary["total_steps"])
        assert told["test, best skill"] == summary["test"]["best"]["shown"]
        gain = worth(RunFiles(run))
        assert gain is not None and told["gain, held out"] == gain.brief
        assert told["used, target"].startswith(f"{summary['total_usage']['target']['calls']} calls, ")
    copy = shutil.copytree(short, tmp_path / "copy")
    summary["total_usage"]["optimizer"]["calls"] = 1
    (copy / "summary.json").write_text(json.dumps(summary), "utf-8")
    assert standing(RunFiles(copy))["used, optimizer"].startswith("1 call, ")
    (copy / "summary.json").unlink()
    last = read_json(copy / "history.json")[-1]
    told = standing(RunFiles(copy))
    assert (told["end"], told["selection, best skill"]) == ("not ended", f"{last['best_solved']}/{last['best_n']}")


@pytest.mark.parametrize(("more", "shown"), [({"best_n": 90}, "7/90"), ({}, "7/30")])
def test_the_best_skill_is_counted_from_the_passes_it_was_measured_in(
    short: Path, tmp_path: Path, more: dict[str, int], shown: str
) -> None:
    """F93: no share above one, where the current skill has fewer passes; a record without the count has the other's."""
    copy = shutil.copytree(short, tmp_path / "copy")
    (copy / "summary.json").unlink()
    records = read_json(copy / "history.json")
    del records[-1]["best_n"]
    records[-1] |= {"val_n": 30, "best_solved": 7, **more}
    write_json_atomically(copy / "history.json", records)
    assert standing(RunFiles(copy))["selection, best skill"] == shown


def test_a_setting_that_one_run_does_not_have_is_a_difference(short: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(short, tmp_path / "copy")
    (copy / "config.yaml").write_text("train:\n  num_epochs: 1\n", "utf-8")
    found = {one.key: one.values for one in setting_differences(RunFiles(copy), RunFiles(short))}
    assert found["train.seed"] == ("(not set)", 42) and "train.num_epochs" not in found


def test_the_best_skills_rows_are_those_that_its_score_was_counted_from(eventful: Path, short: Path) -> None:
    for run in (eventful, short):
        last, rows = read_json(run / "history.json")[-1], best_rows(RunFiles(run), "val")
        if run == short:
            assert sum(row.hard or 0 for row in rows) == last["best_solved"]
        assert len({row.id for row in rows}) == 8
        assert len(best_rows(RunFiles(run), "test")) == 8


@pytest.mark.parametrize(
    ("origin", "place"),
    [
        ("initial_skill", "selection_eval_baseline"),
        ("step_0001", "steps/step_0001/selection_eval"),
        ("slow_update_epoch_02", "slow_update/epoch_02/selection_eval"),
    ],
)
def test_whoever_made_the_best_skill_its_rows_are_found(short: Path, tmp_path: Path, origin: str, place: str) -> None:
    copy = shutil.copytree(short, tmp_path / "copy")
    records = read_json(copy / "history.json")
    records[-1]["best_origin"] = origin
    write_json_atomically(copy / "history.json", records)
    rows = read_json(copy / "selection_eval_baseline" / "results.json")[:1]
    write_json_atomically(copy / place / "results.json", [{**rows[0], "id": "here"}])
    assert [row.id for row in best_rows(RunFiles(copy), "val")] == ["here"]
    write_json_atomically(copy / "selection_eval_final" / "results.json", [{**rows[0], "id": "fresh"}])
    assert [row.id for row in best_rows(RunFiles(copy), "val")] == ["fresh"]


def test_flips_are_the_tasks_that_one_solves_and_the_other_does_not(short: Path, tmp_path: Path) -> None:
    """The exact sign test stands beside them."""
    copy = shutil.copytree(short, tmp_path / "copy")
    rows = read_json(short / "test_eval" / "results.json")
    turned = [{**row, "hard": 1 - row["hard"], "soft": float(1 - row["hard"])} for row in rows[:5]]
    write_json_atomically(copy / "test_eval" / "results.json", [*turned, *rows[5:7], {**rows[7], "id": "other"}])
    found = split_difference(RunFiles(short), RunFiles(copy), "test")
    assert found is not None
    fixed = [row["id"] for row in rows[:5] if not row["hard"]]
    broken = [row["id"] for row in rows[:5] if row["hard"]]
    assert [flip.task_id for flip in found.flips.fixed] == fixed
    assert [flip.task_id for flip in found.flips.broken] == broken
    assert (found.shared, found.flips.same, found.same_tasks) == (7, 2, True)
    assert found.two_sided_p == two_sided_p_value(len(fixed), len(broken))
    back = split_difference(RunFiles(copy), RunFiles(short), "test")
    assert back is not None and [flip.task_id for flip in back.flips.fixed] == broken


def test_tasks_of_splits_that_are_not_the_same_are_matched_by_id_and_training_tasks_are_named(
    short: Path, tmp_path: Path
) -> None:
    """F93, F95: what one run trained on says nothing of it."""
    copy = shutil.copytree(short, tmp_path / "copy")
    manifest = read_json(copy / "split_manifest.json")
    test = manifest["splits"]["test"]
    manifest["splits"]["train"]["ids"] += test["ids"][:2]
    test["digest"] = "another"
    write_json_atomically(copy / "split_manifest.json", manifest)
    found = split_difference(RunFiles(short), RunFiles(copy), "test")
    assert found is not None
    assert (found.same_tasks, found.seen) == (False, tuple(sorted(test["ids"][:2])))


def test_without_a_shared_task_there_is_nothing_to_compare(short: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(short, tmp_path / "copy")
    shutil.rmtree(copy / "test_eval")
    assert split_difference(RunFiles(short), RunFiles(copy), "test") is None
    (copy / "history.json").unlink()
    assert split_difference(RunFiles(short), RunFiles(copy), "val") is None
