"""What a run directory has recorded of a skill."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.run.conftest import Finished
from tests.support.runs import read_json

from skillopt.config.load import load_config
from skillopt.errors import RunDirectoryError
from skillopt.run.recorded_rollouts import recorded_rollouts
from skillopt.run.setup import Setup, prepare
from skillopt.skill.document import Skill


def setup_of(run: Path) -> Setup:
    return prepare(load_config(run / "config.yaml"))


def test_it_is_what_the_run_measured_on_each_task(finished: Finished) -> None:
    run, setup = finished.directory, setup_of(finished.directory)
    best = Skill.load(run / "best_skill.md")
    found = recorded_rollouts(setup, best, setup.splits.test, directory=run)
    rows = {row["id"]: row["hard"] for row in read_json(run / "test_eval" / "results.json")}
    assert {task: rollout.score.hard for task, rollout in found.items() if rollout.score is not None} == rows
    seed = recorded_rollouts(setup, setup.seed_skill, setup.splits.val, directory=run)
    assert len(seed) == len(setup.splits.val)


def test_a_skill_that_was_never_tried_has_no_records(finished: Finished) -> None:
    setup = setup_of(finished.directory)
    other = Skill.parse("# Another\n")
    assert recorded_rollouts(setup, other, setup.splits.test, directory=finished.directory) == {}


def test_a_directory_without_evidence_is_one_message(finished: Finished, tmp_path: Path) -> None:
    setup = setup_of(finished.directory)
    with pytest.raises(RunDirectoryError, match="no evidence"):
        recorded_rollouts(setup, setup.seed_skill, (), directory=tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("summary", [None, "", "[]", '{"models": {"target": "a:b"}}'])
def test_a_run_that_does_not_name_its_target_is_one_message(
    finished: Finished, tmp_path: Path, summary: str | None
) -> None:
    shutil.copy(finished.directory / "evidence.sqlite", tmp_path)
    if summary is not None:
        (tmp_path / "summary.json").write_text(summary, "utf-8")
    setup = setup_of(finished.directory)
    with pytest.raises(RunDirectoryError, match="with which target"):
        recorded_rollouts(setup, setup.seed_skill, setup.splits.val, directory=tmp_path)
