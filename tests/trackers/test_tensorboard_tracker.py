"""Event files, read back as TensorBoard reads them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.tracked import PNG, POINTS, a_start, an_end_with_files, in_tensorboard
from tests.support.trackers import an_end

from skillopt.config.tracker_settings import TensorboardSettings
from skillopt.trackers.base import Opened
from skillopt.trackers.tensorboard_tracker import TensorboardTracker
from skillopt.trackers.told import Status


def tell(run: Path, settings: TensorboardSettings, known: str | None = None, *, told: int = 0) -> Opened:
    """Open the files of a run, tell what was not told, end and close."""
    tracker = TensorboardTracker(settings)
    assert tracker.attached == ""
    opened = tracker.open(a_start(run), known, told=told)
    for point in POINTS[told if opened.known else 0 :]:
        tracker.log(point)
    tracker.end(an_end_with_files(run))
    tracker.close(Status.FINISHED)
    return opened


def test_a_run_is_in_its_directory_with_numbers_words_skills_and_picture(run: Path) -> None:
    assert not tell(run, TensorboardSettings()).known
    found = in_tensorboard(run / "tensorboard")
    assert found.steps["scores/best"] == [(0, 0.25), (1, 0.5)]
    assert found.steps["scores/train"] == [(1, 0.0)]
    assert found.steps["final/test_best"] == [(1, 0.75)]
    assert "| train.seed | 7 |" in found.words["settings 0"]
    assert "| simulated | true |" in found.words["settings 0"]
    assert found.words["simulated 0"].startswith("SIMULATED MODELS")
    assert found.words["end 1"] == "- state: improved\n- test.best: 6/8 (75.0 %)"
    assert found.words["skill 0"] == "# Seed\n"
    assert found.words["best_skill 1"] == "# Best\n\n| a | b |\n"
    assert found.words["training_dashboard"] == (2, 1, PNG)


@pytest.mark.parametrize("artifacts", [True, False])
def test_the_settings_say_where_and_whether_the_skills_are_there(run: Path, tmp_path: Path, artifacts: bool) -> None:
    tell(run, TensorboardSettings(log_dir=str(tmp_path / "boards"), artifacts=artifacts))
    assert not (run / "tensorboard").exists()
    words = in_tensorboard(tmp_path / "boards" / "run").words
    assert ("best_skill 1" in words, "training_dashboard" in words) == (artifacts, artifacts)


def test_a_run_that_goes_on_has_each_step_once(run: Path) -> None:
    """A step that was written and not noted is written again, and the reader drops the first one."""
    first = tell(run, TensorboardSettings())
    assert tell(run, TensorboardSettings(), first.run, told=1) == Opened(first.run, known=True)
    assert in_tensorboard(run / "tensorboard").steps["scores/best"] == [(0, 0.25), (1, 0.5)]


def test_a_run_that_begins_anew_takes_the_place_of_what_was_there(run: Path) -> None:
    tell(run, TensorboardSettings())
    assert not tell(run, TensorboardSettings(), None).known
    assert in_tensorboard(run / "tensorboard").steps["scores/best"] == [(0, 0.25), (1, 0.5)]


def test_below_a_directory_of_all_runs_each_run_has_one_of_its_own_whatever_it_is_called(
    run: Path, tmp_path: Path
) -> None:
    settings = TensorboardSettings(log_dir=str(tmp_path / "boards"))
    names = [tell(run, settings).run for _ in range(3)]
    assert names == ["run", "run-2", "run-3"]
    assert tell(run, settings, "run-2", told=2) == Opened("run-2", known=True)
    for strange in ("../run", "", ".", "gone"):
        assert not tell(run, settings, strange, told=2).known
    assert in_tensorboard(tmp_path / "boards" / "run-2").steps["scores/best"] == [(0, 0.25), (1, 0.5)]


def test_what_a_full_disk_refused_is_written_once_there_is_room(run: Path, tmp_path: Path) -> None:
    """And nothing that waits for ever, or that speaks up at the end of the program, is left of it."""
    resource = pytest.importorskip("resource")
    before, threads = resource.getrlimit(resource.RLIMIT_FSIZE), threading.active_count()

    def full(most: int, what: Callable[[], object]) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
        try:
            with pytest.raises(OSError, match="too large"):
                what()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    tracker = TensorboardTracker(TensorboardSettings(log_dir=str(tmp_path / "boards")))
    for most in (0, 100):
        full(most, lambda: tracker.open(a_start(run), None, told=0))
    opened = tracker.open(a_start(run), None, told=0)
    assert (opened.run, opened.known) == ("run", False)
    for point in POINTS:
        full(2, lambda point=point: tracker.log(point))
        tracker.log(point)
    full(2, lambda: tracker.end(an_end()))
    tracker.end(an_end_with_files(run))
    tracker.close(Status.FINISHED)
    found = in_tensorboard(tmp_path / "boards" / "run")
    assert found.steps["scores/best"] == [(0, 0.25), (1, 0.5)]
    assert found.words["end 1"] == "- state: improved\n- test.best: 6/8 (75.0 %)"
    assert threading.active_count() == threads


def test_a_run_whose_files_are_gone_begins_anew(run: Path) -> None:
    assert not tell(run, TensorboardSettings(), "tensorboard", told=1).known
