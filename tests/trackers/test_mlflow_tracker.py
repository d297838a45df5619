"""Runs in an SQLite store of MLflow."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from tests.support.tracked import (
    POINTS,
    a_start,
    an_end_with_files,
    asked_beyond_this_machine,
    in_mlflow,
    mlflow_store,
)

from skillopt.config.tracker_settings import MlflowSettings
from skillopt.trackers.base import Opened
from skillopt.trackers.mlflow_tracker import MlflowTracker
from skillopt.trackers.told import Status

pytestmark = pytest.mark.filterwarnings("ignore")  # What libraries warn themselves and each other of.


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> str:
    return mlflow_store(tmp_path_factory.mktemp("mlflow"))


def tell(
    run: Path, settings: MlflowSettings, known: str | None = None, *, told: int = 0, status: Status = Status.FINISHED
) -> Opened:
    """Open a run, tell what was not told, end and close."""
    tracker = MlflowTracker(settings)
    long_one = {"env.long": "x" * 9000, "env.fields.Frage?": "question", "env.none": None}
    opened = tracker.open(a_start(run, **long_one, **{f"env.own_{n}": n for n in range(120)}), known, told=told)
    for point in POINTS[told if opened.known else 0 :]:
        tracker.log(point)
    tracker.end(an_end_with_files(run))
    tracker.close(status)
    return opened


def files_of(uri: str, run: str) -> list[str]:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=uri)
    return sorted(one.path for folder in ("", "skills") for one in client.list_artifacts(run, folder))


def test_a_run_has_its_numbers_settings_end_and_files(run: Path, uri: str, capfd: pytest.CaptureFixture[str]) -> None:
    from mlflow import MlflowClient

    opened = tell(run, MlflowSettings(tracking_uri=uri))
    found = in_mlflow(uri, opened.run)
    assert found.steps["scores/best"] == [(0, 0.25), (1, 0.5)]
    assert found.steps["scores/train"] == [(1, 0.0)]
    assert found.steps["final/test_best"] == [(1, 0.75)]
    assert (found.words["train.seed"], found.words["env.own_119"], found.words["env.none"]) == ("7", "119", "null")
    assert found.words["env.long"] == "x" * 6000
    assert found.words["env.fields.Frage_"] == "question"
    assert found.words["skillopt.simulated"] == "true"
    assert (found.words["skillopt.state"], found.words["skillopt.test.best"]) == ("improved", "6/8 (75.0 %)")
    assert files_of(uri, opened.run) == [
        "best_skill.md",
        "skills",
        "skills/skill_v0000.md",
        "training_dashboard.png",
    ]
    info = MlflowClient(tracking_uri=uri).get_run(opened.run).info
    assert (info.run_name, info.status) == ("run", "FINISHED")
    assert capfd.readouterr() == ("", ""), "the training's own output is its own"


def test_a_store_is_made_without_a_word_and_mlflow_speaks_as_before_afterwards(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    uri = f"sqlite:///{tmp_path / 'new.db'}"
    opened = tell(run, MlflowSettings(tracking_uri=uri, artifacts=False))
    assert in_mlflow(uri, opened.run).steps["scores/best"]
    assert capfd.readouterr() == ("", "")
    logging.getLogger("mlflow.store").warning("still heard")
    logging.getLogger("mlflow.store").info("still heard too")
    assert capfd.readouterr().err.count("still heard") == 2


def test_the_settings_name_experiment_and_run_and_leave_files_out(run: Path, uri: str) -> None:
    from mlflow import MlflowClient

    opened = tell(run, MlflowSettings(tracking_uri=uri, experiment="other", run_name="mine", artifacts=False))
    client = MlflowClient(tracking_uri=uri)
    found = client.get_run(opened.run)
    experiment = client.get_experiment_by_name("other")
    assert experiment is not None
    assert (found.info.run_name, found.info.experiment_id) == ("mine", experiment.experiment_id)
    assert files_of(uri, opened.run) == []


def test_a_run_that_goes_on_has_each_step_once_and_says_which_settings_changed(run: Path, uri: str) -> None:
    from mlflow import MlflowClient

    first = tell(run, MlflowSettings(tracking_uri=uri), status=Status.KILLED)
    client = MlflowClient(tracking_uri=uri)
    assert client.get_run(first.run).info.status == "KILLED"
    tracker = MlflowTracker(MlflowSettings(tracking_uri=uri))
    start = a_start(run, **{"env.workers": 8, "train.seed": 8})
    assert tracker.open(start, first.run, told=1) == Opened(first.run, known=True, steps=2)
    assert client.get_run(first.run).info.status == "RUNNING"
    tracker.end(an_end_with_files(run))
    tracker.close(Status.FINISHED)
    found = in_mlflow(uri, first.run)
    assert found.steps["scores/best"] == [(0, 0.25), (1, 0.5)]
    assert found.steps["final/test_best"] == [(1, 0.75)]
    assert (found.words["env.workers"], found.words["train.seed"]) == ("8", "7")
    assert found.words["skillopt.setting.train.seed"] == "8"
    assert client.get_run(first.run).info.status == "FINISHED"


@pytest.mark.parametrize("gone", ["deleted", "unknown"])
def test_a_run_that_is_gone_begins_anew(run: Path, uri: str, gone: str) -> None:
    from mlflow import MlflowClient

    known = "0" * 32
    if gone == "deleted":
        known = tell(run, MlflowSettings(tracking_uri=uri)).run
        MlflowClient(tracking_uri=uri).delete_run(known)
    opened = tell(run, MlflowSettings(tracking_uri=uri), known, told=1)
    assert not opened.known and opened.run != known
    assert in_mlflow(uri, opened.run).steps["scores/best"] == [(0, 0.25), (1, 0.5)]


def test_a_server_that_fails_has_not_lost_the_run(
    run: Path, monkeypatch: pytest.MonkeyPatch, httpserver: HTTPServer
) -> None:
    from mlflow.exceptions import MlflowException

    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    httpserver.expect_request("/api/2.0/mlflow/runs/get").respond_with_data("busy", status=500)
    tracker = MlflowTracker(MlflowSettings(tracking_uri=httpserver.url_for("").rstrip("/")))
    with pytest.raises(MlflowException):
        tracker.open(a_start(run), "0" * 32, told=1)
    assert [request.path for request, _ in httpserver.log] == ["/api/2.0/mlflow/runs/get"], "and no other is made"


@pytest.mark.parametrize("attach", [True, False])
def test_a_run_that_is_open_is_used_and_left_open_unless_attach_is_false(run: Path, uri: str, attach: bool) -> None:
    import mlflow

    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)
    try:
        with mlflow.start_run(experiment_id="1") as theirs:
            known = theirs.info.run_id
            settings = MlflowSettings(tracking_uri=None if attach else uri, attach=attach)
            assert MlflowTracker(settings).attached == (known if attach else "")
            opened = tell(run, settings)
            assert (opened.run == known) == attach
            active = mlflow.active_run()
            assert active is not None and active.info.run_id == known
            assert mlflow.MlflowClient().get_run(known).info.status == "RUNNING"
            mlflow.log_metric("loss", 1.0, step=5)
    finally:
        mlflow.set_tracking_uri(before)
    found = in_mlflow(uri, known)
    assert found.steps["loss"] == [(5, 1.0)]
    assert ("scores/best" in found.steps, "skillopt.state" in found.words) == (attach, attach)


def test_those_who_make_mlflow_are_not_told_that_it_is_used(run: Path) -> None:
    uri = f"sqlite:///{run / 'store.db'}"
    assert asked_beyond_this_machine(f"MlflowTracker(MlflowSettings(tracking_uri={uri!r}))", run) == []
