"""Runs of Weights & Biases in its offline mode, read back from its files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.tracked import POINTS, a_start, an_end_with_files, asked_beyond_this_machine, in_wandb

from skillopt.config.tracker_settings import WandbSettings
from skillopt.errors import ConfigError
from skillopt.trackers.base import Opened
from skillopt.trackers.told import Status
from skillopt.trackers.wandb_tracker import WandbTracker

pytestmark = pytest.mark.filterwarnings("ignore")  # What libraries warn themselves and each other of.


def tell(
    run: Path, settings: WandbSettings, known: str | None = None, *, told: int = 0, status: Status = Status.FINISHED
) -> Opened:
    """Open a run, tell what was not told, end and close."""
    tracker = WandbTracker(settings, wait=30)
    opened = tracker.open(a_start(run), known, told=told)
    sys.stdout.write("what a training says on its own output names tasks\n")
    for point in POINTS[told if opened.known else 0 :]:
        tracker.log(point)
    tracker.end(an_end_with_files(run))
    tracker.close(status)
    return opened


def test_a_run_has_its_numbers_settings_end_and_files(run: Path, capfd: pytest.CaptureFixture[str]) -> None:
    opened = tell(run, WandbSettings(mode="offline"))
    found = in_wandb(run)
    assert found.steps["scores/best"] == [(0, 0.25), (1, 0.5)]
    assert found.words["config train.seed"] == 7
    assert found.words["tags"] == ["simulated"]
    assert (found.words["name"], found.words["project"]) == ("run", "skillopt")
    assert found.words["skillopt.test.best"] == "6/8 (75.0 %)"
    assert found.words["final/test_best"] == 0.75
    assert sorted(found.words["files"]) == ["best_skill.md", "skills/skill_v0000.md", "training_dashboard.png"]
    assert found.words["exit"] == 0
    assert opened == Opened(opened.run, known=False)
    said = capfd.readouterr()
    assert (said.out.count("\n"), said.err) == (1, ""), "the training's own output is its own"
    (file,) = run.glob("wandb/offline-run-*/*.wandb")
    assert b"names tasks" not in file.read_bytes(), "and is not sent"
    assert found.words["host"] == ""
    assert list(file.parent.glob("files/*")) == [], "nor is the list of packages, the command line or the code"


def test_the_settings_name_project_run_and_directory_and_leave_files_out(run: Path, tmp_path: Path) -> None:
    settings = WandbSettings(
        mode="offline", project="other", entity="team", run_name="mine", log_dir=str(tmp_path), artifacts=False
    )
    tell(run, settings, status=Status.FAILED)
    words = in_wandb(tmp_path).words
    assert (words["name"], words["project"], words["exit"]) == ("mine", "other", 1)
    assert "files" not in words
    assert not (run / "wandb").exists()


def test_a_run_that_goes_on_keeps_its_id_and_has_each_step_once(run: Path) -> None:
    first = tell(run, WandbSettings(mode="offline"))
    assert tell(run, WandbSettings(mode="offline"), first.run, told=1) == Opened(first.run, known=True)
    files = sorted(run.glob("wandb/offline-run-*/*.wandb"))
    assert [file.name for file in files] == [f"run-{first.run}.wandb"] * 2
    assert in_wandb(run).steps["scores/best"] == [(0, 0.25), (1, 0.5), (1, 0.5)], "what was told before is not again"


@pytest.fixture
def theirs(run: Path, tmp_path: Path) -> Iterator[str]:
    """The id of a run that the program has open."""
    import wandb

    silent = wandb.Settings(silent=True, console="off", x_disable_stats=True, disable_git=True)
    open_run = wandb.init(project="theirs", mode="offline", dir=str(tmp_path / "theirs"), settings=silent)
    yield str(open_run.id)
    open_run.finish()


@pytest.mark.parametrize("attach", [True, False])
def test_a_run_that_is_open_is_used_and_left_open_unless_attach_is_false(
    run: Path, tmp_path: Path, theirs: str, attach: bool
) -> None:
    import wandb

    assert wandb.run is not None
    settings = WandbSettings(mode="offline", attach=attach)
    assert WandbTracker(settings, wait=30).attached == (theirs if attach else "")
    opened = tell(run, settings)
    assert (opened.run == theirs) == attach
    assert wandb.run is not None and wandb.run.id == theirs
    wandb.run.log({"skillopt_step": 9, "loss": 1.0})
    wandb.run.finish()
    found = in_wandb(tmp_path / "theirs")
    assert found.steps["loss"] == [(9, 1.0)]
    assert ("scores/best" in found.steps, "skillopt.state" in found.words) == (attach, attach)
    assert (run / "wandb").exists() != attach


def test_without_a_login_nothing_is_asked_on_the_terminal(
    run: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WANDB_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    monkeypatch.setenv("NETRC", str(run / "netrc"))
    with pytest.raises(ConfigError, match=r"no key for Weights & Biases\nSet WANDB_API_KEY"):
        WandbTracker(WandbSettings(), wait=30).open(a_start(run), None, told=0)
    assert capfd.readouterr() == ("", "")


def test_nobody_is_told_of_an_offline_run(run: Path) -> None:
    assert asked_beyond_this_machine('WandbTracker(WandbSettings(mode="offline"), wait=30)', run) == []
