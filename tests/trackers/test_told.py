"""What trackers are told: settings, numbers, ends and skills, and nothing of tasks and trajectories."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.runs import read_json

from skillopt.config.load import load_config
from skillopt.events import RunStarted
from skillopt.report.course import step_point
from skillopt.report.picture import PICTURE_NAME
from skillopt.report.run_files import RunFiles
from skillopt.trackers.told import Point, Status, as_text, end, point, start


def started(simulated: bool = True) -> RunStarted:
    return RunStarted("run", 8, 2, {"train": 16, "val": 8, "test": 8}, {}, simulated=simulated)


def test_the_start_has_every_setting_but_those_of_trackers(eventful: Path) -> None:
    config = load_config(eventful / "config.yaml", ["trackers.mlflow.experiment=x"]).config
    found = start(config, started(), eventful)
    assert found.settings["train.batch_size"] == 8
    assert found.settings["model.target.base_url"] is None
    assert (found.settings["tasks.val"], found.settings["total_steps"]) == (8, 8)
    assert [key for key in found.settings if key.startswith("trackers")] == []
    assert found.tags["simulated"] == "true"
    assert start(config, started(simulated=False), eventful).tags["simulated"] == "false"


def test_a_step_has_the_numbers_of_the_report_and_none_for_what_was_not_measured(eventful: Path) -> None:
    records = read_json(eventful / "history.json")
    points = [point(step) for step in RunFiles(eventful).course.points]
    assert [one.step for one in points] == [record["step"] for record in records]
    baseline, last, record = points[0].metrics, points[-1].metrics, records[-1]
    assert baseline["scores/best"] == records[0]["best_score"]
    assert "scores/train" not in baseline and "scores/candidate" not in baseline
    assert (last["scores/current"], last["scores/best"]) == (record["current_score"], record["best_score"])
    assert last["scores/train"] == record["train_acc"]
    assert last["skill/tokens"] == record["skill_tokens"]
    assert (last["edits/budget"], last["edits/proposed"]) == (record["edit_budget"], record["n_edits_proposed"])
    assert last["edits/applied"] == record["edits"]["applied"]
    for role, used in record["total_usage"].items():
        tokens = used["fresh_tokens"] + used["cached_tokens"] + used["output_tokens"]
        assert (last[f"spend/{role}_tokens"], last[f"spend/{role}_dollars"]) == (tokens, used["dollars"])
    for one, record in zip(points[1:], records[1:], strict=True):
        exact, bound = record["candidate_gate_score"], record["candidate_gate_score_upper_bound"]
        assert one.metrics.get("scores/candidate") == exact
        assert one.metrics.get("scores/candidate_at_most") == (bound if exact is None else None)
    assert any("scores/slow_update" in one.metrics for one in points)
    assert {one.metrics.get("edits/accepted") for one in points} >= {0.0, 1.0}


def test_an_unknown_price_is_no_number(eventful: Path) -> None:
    record = dict(read_json(eventful / "history.json")[-1])
    record["total_usage"] = {role: {**used, "dollars": None} for role, used in record["total_usage"].items()}
    assert [name for name in point(step_point(record)).metrics if "dollars" in name] == []


def test_an_end_has_its_state_counts_and_files(eventful: Path) -> None:
    summary = read_json(eventful / "summary.json")
    found = end(summary["state"], summary, eventful, step=8)
    assert found.words["state"] == summary["state"]
    assert found.words["test.best"] == summary["test"]["best"]["shown"]
    assert found.words["best_step"] == str(summary["best_step"])
    assert found.numbers["final/selection_seed"] == summary["selection"]["seed"]["hard"]
    assert found.files.keys() == {
        *(f"skills/skill_v{step:04d}.md" for step in range(len(read_json(eventful / "history.json")))),
        "best_skill.md",
    }, "and no other file of the run"
    assert found.picture is None and found.skills == found.files


def test_a_picture_that_this_training_did_not_draw_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / PICTURE_NAME).write_bytes(b"of an earlier start")
    assert end("improved", {}, tmp_path, step=1).picture is not None
    assert end("improved", {}, tmp_path, step=1, drawn=False).picture is None


def test_nothing_of_a_task_is_among_it(eventful: Path) -> None:
    summary = read_json(eventful / "summary.json")
    config = load_config(eventful / "config.yaml").config
    given = start(config, started(), eventful)
    ended = end(summary["state"], summary, eventful, step=8)
    told = json.dumps(
        [
            dict(given.settings),
            dict(given.tags),
            [dict(point(step).metrics) for step in RunFiles(eventful).course.points],
            [dict(ended.words), dict(ended.numbers), list(ended.files)],
        ]
    )
    tasks = read_json(eventful / "selection_eval_baseline" / "results.json")
    assert tasks
    assert [task["id"] for task in tasks if f'"{task["id"]}"' in told] == []
    assert summary["message"] not in told


@pytest.mark.parametrize(
    ("state", "status"),
    [
        ("improved", Status.FINISHED),
        ("all_rejected", Status.FINISHED),
        ("limit_reached", Status.FINISHED),
        ("provider_failed", Status.FAILED),
        ("interrupted", Status.KILLED),
    ],
)
def test_an_end_ahead_of_the_baseline_has_a_status_and_no_scores(tmp_path: Path, state: str, status: Status) -> None:
    found = end(state, {"state": state, "message": ""}, tmp_path, step=0)
    assert (found.status, found.words, found.numbers, found.files) == (status, {"state": state}, {}, {})


def test_equal_steps_and_ends_have_equal_digests_and_others_have_not(tmp_path: Path) -> None:
    one = Point(1, {"a": 1.0, "b": 2.0})
    assert one.digest == Point(1, {"b": 2.0, "a": 1.0}).digest
    assert len({one.digest, Point(2, one.metrics).digest, Point(1, {"a": 1.0}).digest}) == 3
    before = end("improved", {}, tmp_path, step=1)
    (tmp_path / "best_skill.md").write_text("# A\n", "utf-8")
    after = end("improved", {}, tmp_path, step=1)
    digests = {before.digest, after.digest}
    (tmp_path / "best_skill.md").write_text("# B\n", "utf-8")
    digests |= {after.digest, end("improved", {}, tmp_path, step=2).digest}
    (tmp_path / "training_dashboard.png").write_bytes(b"png")
    digests.add(end("improved", {}, tmp_path, step=2).digest)
    assert len(digests) == 5


@pytest.mark.parametrize(("value", "text"), [("a", "a"), (True, "true"), (None, "null"), ([1, "ä"], '[1, "ä"]')])
def test_a_setting_is_a_text_for_who_knows_texts_alone(value: object, text: str) -> None:
    assert as_text(value) == text  # type: ignore[arg-type]
