"""Whole trainings that tell the real trackers, in their local and offline modes."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.support.commands import in_a_process, write_tiny_run
from tests.support.runs import read_json, views, write_run
from tests.support.tracked import (
    Found,
    in_mlflow,
    in_tensorboard,
    in_trackio,
    in_wandb,
    keep_apart,
    mlflow_store,
)

from skillopt.api import train
from skillopt.errors import MissingDependencyError
from skillopt.events import Event, Warned
from skillopt.run.outcome import EndState, Outcome
from skillopt.run.recovery import recover

pytestmark = pytest.mark.filterwarnings("ignore")  # What libraries warn themselves and each other of.


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the libraries write what is not the run's."""
    keep_apart(monkeypatch, tmp_path / "elsewhere")
    return tmp_path / "elsewhere"


def all_four(tmp_path: Path, **more: Any) -> dict[str, Any]:
    """The settings that choose all trackers."""
    return {
        "trackers": {
            "wait": 120.0,
            "mlflow": {"tracking_uri": mlflow_store(tmp_path)},
            "wandb": {"mode": "offline"},
            "trackio": {},
            "tensorboard": {},
        },
        **more,
    }


def read_back(directory: Path, uri: str) -> dict[str, Found]:
    """What the four have of the run in a directory."""
    notes = read_json(directory / "trackers.json")
    return {
        "mlflow": in_mlflow(uri, notes["mlflow"]["run"]),
        "wandb": in_wandb(directory),
        "trackio": in_trackio("skillopt", notes["trackio"]["run"]),
        "tensorboard": in_tensorboard(directory / "tensorboard"),
    }


def bytes_below(*directories: Path) -> Iterator[tuple[Path, bytes]]:
    for directory in directories:
        yield from ((path, path.read_bytes()) for path in directory.rglob("*") if path.is_file())


def used_tokens(record: Mapping[str, Any], role: str) -> int:
    """All tokens that a role used up to and with a step."""
    return sum(record["total_usage"][role][f"{kind}_tokens"] for kind in ("fresh", "cached", "output"))


async def start(config: Path, *overrides: str) -> tuple[Outcome, list[str]]:
    """Start a training; return how it ended and what was warned of trackers."""
    told: list[Event] = []
    outcome = await train(config, overrides, subscribers=[told.append])
    return outcome, [event.message for event in told if isinstance(event, Warned) and "tracker" in event.message]


@pytest.mark.slow
async def test_a_training_that_is_limited_goes_on_and_is_played_again_is_one_run_with_each_step_once(
    tmp_path: Path, elsewhere: Path
) -> None:
    settings = all_four(tmp_path, **{"report.picture": True})
    config, uri = write_run(tmp_path, settings=settings), settings["trackers"]["mlflow"]["tracking_uri"]
    limited, warned = await start(config, "limits.calls=40")
    assert (limited.state, warned) == (EndState.LIMIT_REACHED, [])
    directory = limited.directory
    early = read_back(directory, uri)
    assert {name: found.steps["scores/best"][0] for name, found in early.items()} == dict.fromkeys(early, (0, 0.0))
    assert early["mlflow"].words["skillopt.state"] == "limit_reached"

    for _ in range(2):
        outcome, warned = await start(config)
        assert (outcome.state, warned) == (EndState.IMPROVED, [])
        records, found = read_json(directory / "history.json"), read_back(directory, uri)
        for name, one in found.items():
            assert [step for step, _ in one.steps["scores/best"]] == [record["step"] for record in records], name
            best = [record["best_score"] for record in records]
            assert [value for _, value in one.steps["scores/best"]] == pytest.approx(best), name
            tokens = [used_tokens(record, "target") for record in records]
            assert [value for _, value in one.steps["spend/target_tokens"]] == pytest.approx(tokens), name
    summary = outcome.summary
    shown = summary["test"]["best"]["shown"]
    assert found["mlflow"].words["skillopt.state"] == "improved"
    assert found["mlflow"].words["skillopt.test.best"] == shown
    assert found["wandb"].words["skillopt.test.best"] == shown
    assert found["trackio"].words["skillopt.test.best"] == shown
    assert f"- test.best: {shown}" in found["tensorboard"].words[f"end {records[-1]['step']}"]
    assert found["mlflow"].words["skillopt.simulated"] == "true" and found["wandb"].words["tags"] == ["simulated"]
    artifacts = {path.name for path in (tmp_path / "artifacts").rglob("*") if path.is_file()}
    assert artifacts == {path.name for path in (directory / "skills").iterdir()} | {
        "best_skill.md",
        "training_dashboard.png",
    }
    assert "training_dashboard.png" in found["wandb"].words["files"]
    assert found["tensorboard"].words["training_dashboard"][2] == (directory / "training_dashboard.png").read_bytes()
    told = [
        path
        for path, content in bytes_below(
            directory / "wandb", directory / "tensorboard", tmp_path / "artifacts", elsewhere
        )
        for task in map(json.loads, (tmp_path / "tasks.jsonl").read_text("utf-8").splitlines())
        if task["id"].encode() in content or task["question"].encode() in content
    ]
    assert told == [], "no task is among it"
    assert b"simulated-0001" not in (tmp_path / "mlflow.db").read_bytes()


async def test_trackers_change_nothing_of_a_run(tmp_path: Path, elsewhere: Path) -> None:
    """They are no part of what a run is: one that was begun without them goes on with them."""
    config = write_run(tmp_path)
    await train(config)
    before = views(tmp_path / "run")
    outcome, warned = await start(config, "trackers.tensorboard={}", "trackers.trackio.project=p")
    assert (outcome.state, warned) == (EndState.IMPROVED, [])
    assert {name: text for name, text in views(outcome.directory).items() if "tfevents" not in name} == before
    steps = [record["step"] for record in read_json(outcome.directory / "history.json")]
    assert [step for step, _ in in_tensorboard(outcome.directory / "tensorboard").steps["scores/best"]] == steps


async def test_more_epochs_whose_schedule_changes_steps_are_told_to_a_new_run(tmp_path: Path, elsewhere: Path) -> None:
    config = write_run(tmp_path, settings={"trackers.trackio": {}})
    await start(config, "train.num_epochs=1")
    first = read_json(tmp_path / "run" / "trackers.json")["trackio"]["run"]
    await start(config)
    second = read_json(tmp_path / "run" / "trackers.json")["trackio"]["run"]
    assert second != first
    steps = [record["step"] for record in read_json(tmp_path / "run" / "history.json")]
    assert [step for step, _ in in_trackio("skillopt", second).steps["scores/best"]] == steps


def test_runs_that_the_program_has_open_are_told_and_left_open(tmp_path: Path, elsewhere: Path) -> None:
    import mlflow
    import trackio

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri := mlflow_store(tmp_path))
    theirs = trackio.init(project="theirs", name="open", auto_log_cpu=False, auto_log_gpu=False)
    try:
        with mlflow.start_run(experiment_id="1") as opened:
            config = write_run(tmp_path, settings={"trackers": {"mlflow": {}, "trackio": {}, "wait": 120.0}})
            outcome, warned = asyncio.run(start(config))
            assert warned == []
            active = mlflow.active_run()
            assert active is not None and active.info.run_id == opened.info.run_id
            assert mlflow.MlflowClient().get_run(opened.info.run_id).info.status == "RUNNING"
    finally:
        trackio.finish()
        trackio.context_vars.current_run.set(None)
        mlflow.set_tracking_uri(before)
    steps = [record["step"] for record in read_json(outcome.directory / "history.json")]
    for found in (in_mlflow(uri, opened.info.run_id), in_trackio("theirs", theirs.id)):
        assert [step for step, _ in found.steps["scores/best"]] == steps


async def test_trackers_that_are_broken_are_warned_of_once_each_and_harm_nothing(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer
) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "planted-8f2c6d11aa")
    httpserver.expect_request("/api/2.0/mlflow/experiments/get-by-name").respond_with_data(
        "who are you, planted-8f2c6d11aa?", status=500
    )
    (tmp_path / "boards").write_text("a file", "utf-8")
    config = write_run(tmp_path)
    await train(config, [f"env.out_root={tmp_path / 'alone'}"])
    outcome, warned = await start(
        config,
        f"trackers.mlflow.tracking_uri={httpserver.url_for('')}",
        f"trackers.tensorboard.log_dir={tmp_path / 'boards'}",
    )
    assert outcome.state is EndState.IMPROVED
    assert sorted(words.split(":")[0] for words in warned) == ["tracker mlflow", "tracker tensorboard"]
    assert views(outcome.directory) == views(tmp_path / "alone")
    notes = read_json(outcome.directory / "trackers.json")
    assert notes["mlflow"]["failures"] > 1 and notes["tensorboard"]["last_failure"].startswith("NotADirectoryError")
    assert [path.name for path, content in bytes_below(outcome.directory) if b"planted-8f2c6d11aa" in content] == []
    assert "planted-8f2c6d11aa" not in "".join(warned)


def test_a_command_ends_although_a_tracker_never_answers(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        config = write_tiny_run(tmp_path, trackers__mlflow={"tracking_uri": address}, trackers__wait=0.5)
        code, said, error = in_a_process("train", config, cwd=tmp_path)
    assert (code in (0, 10, 11), error) == (True, "")
    (warning,) = (line for line in said.splitlines() if "tracker" in line)
    assert warning.endswith("tracker mlflow: it did not take everything within 0.5 s; the same command sends the rest")


async def test_a_library_that_is_missing_is_said_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mlflow", None)  # type: ignore[arg-type]
    with pytest.raises(MissingDependencyError, match=r"trackers\.mlflow needs the package mlflow-skinny"):
        await train(write_run(tmp_path, settings={"trackers.mlflow": {}}))
    assert not (tmp_path / "run").exists()


def test_what_the_commands_print_is_their_own(tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path, trackers__trackio={}, trackers__tensorboard={}, trackers__wait=120.0)
    environment = {"TRACKIO_DIR": str(tmp_path / "trackio")}
    code, said, error = in_a_process("train", config, "--json", cwd=tmp_path, environment=environment)
    assert (code in (0, 10, 11), error) == (True, "")
    assert [line for line in said.splitlines() if "event" not in json.loads(line)] == []
    assert in_tensorboard(tmp_path / "run" / "tensorboard").words["end 1"].startswith("- state: ")
    assert list((tmp_path / "trackio").iterdir())


async def test_a_move_a_copy_a_fork_and_a_recovery_leave_each_run_of_a_tracker_with_each_step_once(
    tmp_path: Path, elsewhere: Path
) -> None:
    uri, boards = mlflow_store(tmp_path), tmp_path / "boards"
    trackers = {"mlflow": {"tracking_uri": uri}, "tensorboard": {"log_dir": str(boards)}}
    config = write_run(tmp_path, settings={"trackers": {"wait": 120.0, **trackers}, "train.num_epochs": 1})
    await start(config, "limits.calls=40")
    moved, copy, fork = tmp_path / "moved", tmp_path / "copy", tmp_path / "fork"
    first = runs_of(tmp_path / "run")
    (tmp_path / "run").rename(moved)
    await start(moved / "config.yaml")  # Up to the same limit: there is nothing to tell.
    shutil.copytree(moved, copy)
    await start(moved / "config.yaml", "limits.calls=null")
    evidence = bytearray((moved / "evidence.sqlite").read_bytes())
    for at in range(len(evidence) // 2, len(evidence) // 2 + 4096):
        evidence[at] = 0
    (moved / "evidence.sqlite").write_bytes(evidence)
    assert recover(moved).aside is not None
    for one in (moved, copy):
        assert (await start(one / "config.yaml", "limits.calls=null"))[1] == []
    await train(copy / "config.yaml", fork=fork)
    runs = [runs_of(directory) for directory in (moved, copy, fork)]
    assert runs[0] == first
    for name in trackers:
        assert len({one[name] for one in runs}) == 3, name
    for directory, one in zip((moved, copy, fork), runs, strict=True):
        steps = [record["step"] for record in read_json(directory / "history.json")]
        for found in (in_mlflow(uri, one["mlflow"]), in_tensorboard(boards / one["tensorboard"])):
            assert [step for step, _ in found.steps["scores/best"]] == steps


def runs_of(directory: Path) -> dict[str, str]:
    """The run of each tracker that a run directory notes."""
    return {name: note["run"] for name, note in read_json(directory / "trackers.json").items()}
