"""One set-up for training, evaluation and preflight; what is wrong with it is said before any model is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.runs import SMALL, write_run

from skillopt.config.load import load_config
from skillopt.errors import ConfigError, DataError, EnvironmentLoadError, SkillError
from skillopt.run.setup import prepare


def test_everything_of_a_run_is_read(tmp_path: Path) -> None:
    setup = prepare(load_config(write_run(tmp_path)))
    assert [len(setup.splits[name]) for name in ("train", "val", "test")] == [16, 8, 8]
    assert setup.seed_skill.text == SMALL.seed_skill()
    assert setup.environment.name == "question_answering"
    assert setup.config is setup.loaded.config


def test_no_seed_skill_is_an_empty_one(tmp_path: Path) -> None:
    assert prepare(load_config(write_run(tmp_path, settings={"env.skill_init": None}))).seed_skill.text == ""


def test_a_seed_skill_that_is_not_there_is_an_error_and_no_empty_skill(tmp_path: Path) -> None:
    """F98: a missing seed file meant "start from blank"."""
    config = write_run(tmp_path, settings={"env.skill_init": "sead.md"})
    with pytest.raises(ConfigError, match=r"config\.yaml.*sead\.md, which does not exist"):
        prepare(load_config(config))


def test_a_seed_skill_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    config = write_run(tmp_path)
    (tmp_path / "seed_skill.md").write_text("a\n<!-- SLOW_UPDATE_START -->\nb\n", "utf-8")
    with pytest.raises(SkillError):
        prepare(load_config(config))


def test_a_task_that_the_environment_cannot_use_is_named_with_its_line(tmp_path: Path) -> None:
    config = write_run(tmp_path)
    lines = (tmp_path / "tasks.jsonl").read_text("utf-8").splitlines()
    broken = json.loads(lines[4])
    del broken["answer"]
    (tmp_path / "tasks.jsonl").write_text("\n".join([*lines[:4], json.dumps(broken), *lines[5:]]), "utf-8")
    with pytest.raises(DataError, match=r"tasks\.jsonl.*5"):
        prepare(load_config(config))


def test_a_task_in_two_splits_is_refused(tmp_path: Path) -> None:
    """F26, F95: a gate that scores the tasks the edits came from proves nothing."""
    config = write_run(tmp_path)
    rows = (tmp_path / "tasks.jsonl").read_text("utf-8").splitlines()
    for name, part in (("train", rows[:10]), ("val", rows[9:20]), ("test", rows[20:])):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(part), "utf-8")
    loaded = load_config(config, [f"env.split_dir={tmp_path}", "env.split_mode=split_dir"])
    with pytest.raises(DataError, match="simulated-0010"):
        prepare(loaded)


def test_the_environments_own_keys_are_checked_with_their_origin(tmp_path: Path) -> None:
    config = write_run(tmp_path, settings={"env.scorerr": "exact"})
    with pytest.raises(ConfigError, match="scorerr"):
        prepare(load_config(config))


def test_an_unknown_environment_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLoadError, match="question_answerin"):
        prepare(load_config(write_run(tmp_path, settings={"env.name": "question_answerin"})))


@pytest.mark.parametrize("raised", ["1 / 0", "raise SystemExit(0)"])
def test_an_environment_whose_check_breaks_is_named_with_what_it_raised(tmp_path: Path, raised: str) -> None:
    code = f"""
from skillopt import Environment, Message, Presentation, Score


class Mine(Environment):
    name = "mine"

    def check(self, task):
        {raised}

    def present(self, task):
        return Presentation((Message("user", "q"),))

    def score(self, task, trajectory):
        return Score(1, 1.0)
"""
    (tmp_path / "mine.py").write_text(code, "utf-8")
    config = write_run(tmp_path, settings={"env.name": str(tmp_path / "mine.py")})
    with pytest.raises(EnvironmentLoadError, match="checking the tasks raised"):
        prepare(load_config(config))
