"""The page docs/environments.md and the template in examples/custom_environment, both executed."""

from __future__ import annotations

import inspect
import re
import shutil
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
from omegaconf import OmegaConf

from skillopt.config.load import load_config
from skillopt.data.splits import load_splits
from skillopt.data.task_files import read_task_file
from skillopt.environments.base import Environment
from skillopt.environments.extraction import Extraction
from skillopt.environments.load import BUILT_IN, ENTRY_POINT_GROUP, load_environment
from skillopt.environments.question_answering import QuestionAnsweringSettings
from skillopt.environments.scorers.settings import OPTIONS, SCORERS
from skillopt.errors import DataError
from skillopt.types import Task, Trajectory

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "environments.md").read_text("utf-8")
EXAMPLE = ROOT / "examples" / "custom_environment"
BLOCKS = re.findall(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
YAML = [text for language, _, text in BLOCKS if language == "yaml"]
MODELS = "model:\n  optimizer: openai:gpt-5.5\n  target: ollama:qwen3\n"


def load(directory: Path, section: str) -> Any:
    """Load an `env` section of the page as a configuration beside the page's Python files."""
    for _, name, text in BLOCKS:
        if name:
            (directory / name).write_text(text, "utf-8")
    path = directory / "config.yaml"
    path.write_text(MODELS + section, "utf-8")
    return load_environment(load_config(path).config.env)


def block(word: str) -> str:
    (found,) = (text for text in YAML if word in text)
    return found


@pytest.mark.parametrize("section", YAML)
def test_every_configuration_on_the_page_loads(tmp_path: Path, section: str) -> None:
    """F125: what the page shows is what the code has."""
    assert isinstance(load(tmp_path, section), Environment)


def test_the_number_configuration_does_what_the_page_says(tmp_path: Path) -> None:
    environment = load(tmp_path, block("scorer: number"))
    task = Task("1", {"question": "0.1 + 0.2?", "answer": "0.3"})
    environment.check(task)
    assert environment.present(task).messages[0].content == "0.1 + 0.2?\n\nReply with the number only.\n"
    assert environment.score(task, Trajectory((), "about 0.305")).hard == 1


def test_the_scoring_function_on_the_page_works(tmp_path: Path) -> None:
    environment = load(tmp_path, block("scoring.py"))
    task = Task("1", {"question": "Anagram of listen?", "answer": "Silent"})
    assert environment.score(task, Trajectory((), "tinsel")).hard == 1
    assert environment.score(task, Trajectory((), "sounds")).soft == 0.5


def test_the_smallest_environment_on_the_page_works(tmp_path: Path) -> None:
    """F125"""
    environment = load(tmp_path, block("echo.py"))
    task = Task("1", {"word": "hey"})
    assert environment.present(task).messages[0].content == "hey"
    score = environment.score(task, Trajectory((), "hey hey"))
    assert (score.hard, round(score.soft, 2), score.feedback) == (0, 0.67, "Expected 'hey' 3 times; it came 2 times.")


def test_the_entry_point_on_the_page_names_the_group() -> None:
    (text,) = (text for language, _, text in BLOCKS if language == "toml")
    assert list(tomllib.loads(text)["project"]["entry-points"]) == [ENTRY_POINT_GROUP]


def test_the_page_names_every_setting_scorer_and_way_to_find_the_answer() -> None:
    own = set(QuestionAnsweringSettings.model_fields)
    words = [*own, *SCORERS, *get_args(Extraction), *BUILT_IN, *(name for names in OPTIONS.values() for name in names)]
    hooks = [
        name for name, value in vars(Environment).items() if inspect.isfunction(value) or isinstance(value, property)
    ]
    named = set(re.findall(r"`(?:env\.)?(\w+)[^`\n]*`", PAGE))
    assert sorted({*words, *(hook for hook in hooks if not hook.startswith("_"))} - named) == []


def copied(directory: Path) -> Any:
    shutil.copytree(EXAMPLE, directory / "mine")
    return load_config(directory / "mine" / "config.yaml").config


def test_the_template_is_copied_loaded_and_run(tmp_path: Path) -> None:
    """F125: the template is instantiated, and every one of its tasks is checked, shown and scored."""
    config = copied(tmp_path)
    environment = load_environment(config.env)
    tasks = read_task_file(Path(config.env.data_path)).tasks
    assert len(tasks) == 24
    for task in tasks:
        environment.check(task)
        right = f"{task.fields['team']}/{task.fields['priority']}"
        prompt = environment.present(task).messages[0].content
        assert right not in prompt
        assert str(task.fields["body"]) in prompt
        assert environment.score(task, Trajectory((), f"I would say {right}")).hard == 1
    half = environment.score(tasks[0], Trajectory((), "BIL/3"))
    assert (half.hard, half.soft, half.feedback) == (0, 0.5, "Expected BIL/2; the reply was BIL/3.")
    assert environment.score(tasks[0], Trajectory((), "?")).soft == 0.0
    assert environment.purpose
    assert environment.identity["code"]


def test_the_templates_data_and_skill_make_a_run(tmp_path: Path) -> None:
    config = copied(tmp_path)
    splits = load_splits(config.env)
    assert [len(splits.train), len(splits.val), len(splits.test)] == [12, 6, 6]
    assert Path(config.env.skill_init).read_text("utf-8").startswith("# ")


def test_the_templates_own_keys_have_an_effect(tmp_path: Path) -> None:
    config = copied(tmp_path)
    task = read_task_file(Path(config.env.data_path)).tasks[0]
    path = tmp_path / "mine" / "config.yaml"
    text = path.read_text("utf-8")
    path.write_text(text.replace("show_plan: true", "show_plan: false\n  teams: [BIL]"), "utf-8")
    environment = load_environment(load_config(path).config.env)
    assert "Plan:" not in environment.present(task).messages[0].content
    with pytest.raises(DataError, match=r"not in env\.teams"):
        environment.check(Task("1", {**task.fields, "team": "TEC"}))


def test_the_templates_configuration_says_only_what_it_must() -> None:
    assert set(OmegaConf.to_container(OmegaConf.load(EXAMPLE / "config.yaml"))) == {
        "model",
        "train",
        "env",
        "evaluation",
    }
