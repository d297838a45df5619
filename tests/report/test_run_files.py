"""The one reader of a run directory."""

from __future__ import annotations

import asyncio
import json
import shutil
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.support.records import started
from tests.support.runs import EVENTFUL, read_json, write_run

from skillopt.api import train
from skillopt.errors import RunDirectoryError
from skillopt.report.run_files import RunFiles
from skillopt.run.event_log import event_json


@pytest.fixture(scope="module")
def ungated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose slow updates are taken unasked, so that they are what later candidates have to beat."""
    slowly = {"optimizer.learning_rate": 1, "optimizer.min_learning_rate": 1, "train.seed": 7}
    settings = {**EVENTFUL, **slowly, "optimizer.slow_update_gate_with_selection": False}
    return asyncio.run(train(write_run(tmp_path_factory.mktemp("ungated"), settings=settings))).directory


def copied(run: Path, tmp_path: Path) -> Path:
    return shutil.copytree(run, tmp_path / "copy")


def test_a_run_has_what_its_files_hold(eventful: Path) -> None:
    files = RunFiles(eventful)
    assert files.name == eventful.name
    assert list(files.records) == read_json(eventful / "history.json")
    assert files.summary == read_json(eventful / "summary.json")
    assert files.manifest == read_json(eventful / "split_manifest.json")
    assert files.settings["env"]["split_ratio"] == "2:1:1"
    assert files.steps == tuple(range(1, len(files.records)))
    assert files.skill_versions == tuple(range(len(files.records)))
    assert files.skill(0) == (eventful.parent / "seed_skill.md").read_text("utf-8")
    assert files.best_skill == (eventful / "best_skill.md").read_text("utf-8")
    assert [point.step for point in files.course.points] == [record["step"] for record in files.records]
    assert [files.slow_update(epoch) is not None for epoch in files.epochs] == [True] * len(files.epochs)
    assert [files.meta_skill(epoch) is not None for epoch in files.epochs] == [True] * len(files.epochs)


def test_the_summary_of_an_earlier_start_is_not_that_of_one_at_work(eventful: Path, tmp_path: Path) -> None:
    """A limit was reached, was raised, and the run goes on or was killed: it has no end yet."""
    run = copied(eventful, tmp_path)
    with (run / "events.jsonl").open("a", encoding="utf-8") as log:
        log.write(event_json(started(), sequence=0) + "\n")
    assert RunFiles(run).summary is None
    (run / "events.jsonl").unlink()
    assert RunFiles(run).summary == read_json(run / "summary.json")


def test_what_there_is_not_is_none(eventful: Path) -> None:
    files = RunFiles(eventful)
    assert files.record(999) is files.skill(999) is files.step(999) is files.step(-1) is None
    assert files.slow_update(1) is files.meta_skill(9) is None
    assert files.flips(999) is files.flips_of_slow_update(9) is None


def test_the_ledger_comes_to_what_the_summary_says(eventful: Path) -> None:
    """F122."""
    files = RunFiles(eventful)
    assert files.summary is not None
    for role, usage in files.summary["total_usage"].items():
        used = [line for line in files.ledger if line.role == role and line.used]
        assert sum(line.output_tokens for line in used) == usage["output_tokens"]
        assert sum(line.calls for line in used) == usage["calls"]
        assert sum(line.dollars or 0 for line in used) == pytest.approx(usage["dollars"])


@pytest.mark.parametrize("run", ["eventful", "ungated"])
def test_flips_are_those_that_the_gate_counted(run: str, request: pytest.FixtureRequest) -> None:
    """Over redraws, fresh passes and second measurements; slow updates are among the skills that had to be beaten."""
    files = RunFiles(request.getfixturevalue(run))
    shown: list[tuple[Any, Any]] = []
    for record in files.records:
        if record["step"]:
            shown.append((record, files.flips(record["step"])))
            lost = enumerate(record["redraws"], start=1)
            shown += [(draw, files.flips(record["step"], draw=number)) for number, draw in lost]
        if record.get("slow_update"):
            shown.append((record["slow_update"], files.flips_of_slow_update(record["epoch"])))
    assert sum(found is not None for _, found in shown) > 5
    for record, found in shown:
        assert (found is not None) == (record["sign_test"] is not None)
        if found is not None:
            assert [flip.task_id for flip in found.broken] == record["broken"]
            assert (len(found.fixed), len(found.broken)) == (
                record["sign_test"]["better"],
                record["sign_test"]["worse"],
            )


def test_the_runs_of_that_test_hold_what_it_speaks_of(eventful: Path, ungated: Path) -> None:
    one, two = RunFiles(eventful).records, RunFiles(ungated).records
    assert any(record["refresh"] for record in one[1:]) and any(record["redraws"] for record in one[1:])
    origins = [(before["current_origin"], after["sign_test"]) for before, after in pairwise(two)]
    assert any(origin.startswith("slow_update") and test for origin, test in origins)


def test_a_task_has_the_page_of_its_trajectory(eventful: Path) -> None:
    files = RunFiles(eventful)
    for place in ("selection_eval_baseline", "steps/step_0001/rollout", "steps/step_0001/selection_eval", "test_eval"):
        rows = files.rollouts(place)
        assert rows
        for row in rows:
            page = files.trajectory(place, row.id, repeat=row.repeat)
            assert page is not None and page.startswith(f"# {row.id}\n")
    assert files.trajectory("steps/step_0001/rollout", "no such task") is None


@pytest.mark.parametrize(
    "place", ["..", "steps", "steps/step_0001/../../..", "/etc", "steps/step_0001/rollout/", "steps/step_1/rollout", ""]
)
def test_what_names_no_evaluation_has_no_rows_and_no_pages(eventful: Path, place: str) -> None:
    assert RunFiles(eventful).rollouts(place) == ()
    assert RunFiles(eventful).trajectory(place, "results") is None


def test_a_link_out_of_the_directory_is_not_followed(eventful: Path, tmp_path: Path) -> None:
    run = copied(eventful, tmp_path)
    (tmp_path / "secret.md").write_text("secret", "utf-8")
    (run / "best_skill.md").unlink()
    (run / "best_skill.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(RunDirectoryError, match="outside of the run directory"):
        _ = RunFiles(run).best_skill


@pytest.mark.parametrize(
    ("name", "text", "read"),
    [
        ("history.json", "[1]", lambda files: files.records),
        ("history.json", '[{"step": 0}]', lambda files: files.course),
        ("history.json", "[]", lambda files: files.course),
        ("summary.json", "[]", lambda files: files.summary),
        ("run_card.json", "{", lambda files: files.card),
        ("split_manifest.json", "", lambda files: files.manifest),
        ("config.yaml", "a: [", lambda files: files.settings),
        ("config.yaml", "evaluation: {repeats: many}", lambda files: files.flips(1)),
        ("config.yaml", "evaluation: 1", lambda files: files.flips(1)),
        ("ledger.csv", "role,stage\nsomebody,reflect\n", lambda files: files.ledger),
        ("steps/step_0001/edit_apply_report.json", "{}", lambda files: files.step(1)),
        ("slow_update/epoch_02/slow_result.json", "{", lambda files: files.slow_update(2)),
    ],
)
def test_a_file_that_cannot_be_read_is_one_message_with_its_name(
    eventful: Path, tmp_path: Path, name: str, text: str, read: Any
) -> None:
    run = copied(eventful, tmp_path)
    (run / name).write_text(text, "utf-8")
    with pytest.raises(RunDirectoryError) as caught:
        read(RunFiles(run))
    assert name.rpartition("/")[2] in caught.value.message
    assert caught.value.hint


def test_a_directory_that_is_no_run_is_one_message(tmp_path: Path) -> None:
    for directory in (tmp_path, tmp_path / "missing"):
        with pytest.raises(RunDirectoryError, match="no run directory"):
            RunFiles(directory)


def test_a_run_that_has_just_begun_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text("", "utf-8")
    files = RunFiles(tmp_path)
    assert (files.records, files.summary, files.steps, files.ledger, files.settings) == ((), None, (), (), {})
    assert files.best_skill is files.manifest is None
    with pytest.raises(RunDirectoryError, match="no baseline yet"):
        _ = files.course


def changed(value: Any, place: str, into: object) -> Any:
    """The same with another value at one place, such as `1.current_score`; `...` takes it away."""
    first, _, rest = place.partition(".")
    items = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    key = first if isinstance(value, dict) else int(first)
    if rest:
        items[key] = changed(items[key], rest, into)
    elif into is ...:
        del items[key]
    else:
        items[key] = into
    return items if isinstance(value, dict) else list(items.values())


OTHER_SHAPES = (
    ("history.json", "0.current_score", 10**400),
    ("history.json", "0.current_score", float("nan")),
    ("history.json", "0.current_score", "1"),
    ("history.json", "0.total_usage.target.fresh_tokens", -1e300),
    ("history.json", "1.rollout_n", "1"),
    ("history.json", "1.rollout_n", ...),
    ("history.json", "1.step", True),
    ("history.json", "0.val_n", 0),
    ("history.json", "0.val_passes.spread", ...),
    ("history.json", "4.meta_skill.action", ...),
    ("summary.json", "test.seed", {"x": 1}),
    ("summary.json", "selection.best.shown", 1),
    ("summary.json", "test_delta_hard", ...),
    ("summary.json", "selection", ...),
    ("summary.json", "total_usage.optimizer.cached_tokens", "many"),
    ("run_card.json", "simulated", "no"),
    ("split_manifest.json", "splits.train.ids.0", []),
    ("split_manifest.json", "splits.train", 1),
)


@pytest.mark.parametrize(("file", "place", "into"), OTHER_SHAPES)
def test_a_view_of_another_shape_is_one_message_that_says_where(
    eventful: Path, tmp_path: Path, file: str, place: str, into: object
) -> None:
    """F16: edited by hand, or by another tool."""
    run = copied(eventful, tmp_path)
    (run / file).write_text(json.dumps(changed(read_json(run / file), place, into)), "utf-8")
    files = RunFiles(run)
    with pytest.raises(RunDirectoryError, match=rf"{file} .*{place.rpartition('.')[2]}"):
        _ = files.records, files.summary, files.card, files.manifest
