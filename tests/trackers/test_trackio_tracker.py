"""Runs in trackio's own database."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tracked import POINTS, a_start, an_end_with_files, in_trackio

from skillopt.config.tracker_settings import TrackioSettings
from skillopt.trackers.base import Opened
from skillopt.trackers.told import Status
from skillopt.trackers.trackio_tracker import TrackioTracker


def tell(run: Path, settings: TrackioSettings, known: str | None = None, *, told: int = 0) -> Opened:
    """Open a run, tell what was not told, end and close."""
    tracker = TrackioTracker(settings)
    opened = tracker.open(a_start(run), known, told=told)
    for point in POINTS[told if opened.known else 0 :]:
        tracker.log(point)
    tracker.end(an_end_with_files(run))
    tracker.close(Status.FINISHED)
    return opened


def artifacts_of(project: str, run: str) -> list[str]:
    from trackio.sqlite_storage import SQLiteStorage

    return [one["name"] for one in SQLiteStorage.get_run_artifacts(project, None, run_id=run)["output"]]


def test_a_run_has_its_numbers_settings_end_and_files(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    opened = tell(run, TrackioSettings())
    found = in_trackio("skillopt", opened.run)
    assert found.steps["scores/best"] == [(0, 0.25), (1, 0.5)]
    assert found.steps["final/test_best"] == [(1, 0.75)]
    assert found.words["train.seed"] == 7
    assert found.words["skillopt.simulated"] == "true"
    assert found.words["skillopt.test.best"] == "6/8 (75.0 %)"
    assert artifacts_of("skillopt", opened.run) == [f"skillopt-{opened.run}"]
    assert capfd.readouterr() == ("", ""), "the training's own output is its own"


def test_the_settings_name_project_and_run_and_leave_files_out(run: Path) -> None:
    from trackio.sqlite_storage import SQLiteStorage

    opened = tell(run, TrackioSettings(project="other", run_name="mine", artifacts=False))
    (record,) = SQLiteStorage.get_run_records("other")
    assert (record["name"], record["id"]) == ("mine", opened.run)
    assert artifacts_of("other", opened.run) == []


def test_a_run_that_goes_on_has_each_step_once(run: Path) -> None:
    first = tell(run, TrackioSettings())
    assert tell(run, TrackioSettings(), first.run, told=1) == Opened(first.run, known=True, steps=2)
    found = in_trackio("skillopt", first.run)
    assert found.steps["scores/best"] == [(0, 0.25), (1, 0.5)]
    assert found.steps["final/test_best"] == [(1, 0.75)]


def test_a_run_that_is_gone_begins_anew(run: Path) -> None:
    opened = tell(run, TrackioSettings(), "gone", told=1)
    assert not opened.known and opened.run != "gone"
    assert in_trackio("skillopt", opened.run).steps["scores/best"] == [(0, 0.25), (1, 0.5)]


@pytest.mark.parametrize("attach", [True, False])
def test_a_run_that_is_open_is_used_and_left_open_unless_attach_is_false(run: Path, attach: bool) -> None:
    import trackio

    theirs = trackio.init(project="theirs", name="open", auto_log_cpu=False, auto_log_gpu=False)
    try:
        assert TrackioTracker(TrackioSettings(attach=attach)).attached == (theirs.id if attach else "")
        opened = tell(run, TrackioSettings(attach=attach))
        assert (opened.run == theirs.id) == attach
        theirs.log({"loss": 1.0}, step=5)
        assert trackio.context_vars.current_run.get() is theirs
    finally:
        trackio.finish()
        trackio.context_vars.current_run.set(None)
    found = in_trackio("theirs", theirs.id)
    assert found.steps["loss"] == [(5, 1.0)]
    if attach:
        assert found.steps["scores/best"] == [(0, 0.25), (1, 0.5)]
        assert found.words["train.seed"] == 7
        assert artifacts_of("theirs", theirs.id) == [f"skillopt-{theirs.id}"]
    else:
        assert "scores/best" not in found.steps
