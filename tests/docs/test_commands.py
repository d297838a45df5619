"""Every command on a page, run in a copy of the project's examples, or marked by what it needs and read by the parser.

F125: what a page tells a person to type is typed here. The two models of the pages are replaced by simulated ones.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import typer
from tests.docs.pages import PAGES, ROOT, Line, lines, yaml_blocks
from tests.support.runs import SMALL

from skillopt.cli.main import app, run
from skillopt.config.load import load_config
from skillopt.models.providers import PROVIDERS

SIMULATED = {
    name: f"simulated:{role}?{urlencode(SMALL.identity)}"
    for name, role in (("ollama:qwen3", "target"), ("openai:gpt-5.5", "optimizer"))
}
"""What stands for the models that the pages name."""

PROGRAMS = {"skillopt": [], "skillopt-train": ["train"], "skillopt-eval": ["eval"]}
NEEDS = {"", "key", "weights", "make", "browser"}
ENDED_IN_ORDER = {0, 10, 11, 12}
"""Exit codes of a training that went through; whether it found something is the models' business."""

WITH_COMMANDS = [page for page in PAGES if lines(page)]
NOT_RUN = [line for page in PAGES for line in lines(page) if line.needs]


def skillopt_words(words: list[str]) -> list[str] | None:
    """The arguments of `skillopt` that a command amounts to; None for another program."""
    if words[:2] == ["python", "scripts/train.py"]:
        return ["train", *words[2:]]
    return [*PROGRAMS[words[0]], *words[1:]] if words[0] in PROGRAMS else None


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of what the pages' commands read, with simulated models, beside a task file of the user's own."""
    for name in ("configs", "examples", "scripts"):
        shutil.copytree(ROOT / name, tmp_path / name)
    for path in tmp_path.rglob("*.yaml"):
        path.write_text(simulated(path.read_text("utf-8")), "utf-8")
    SMALL.write(tmp_path / "my_tasks.jsonl")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def simulated(text: str) -> str:
    for name, model in SIMULATED.items():
        text = text.replace(name, model)
    return text


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_the_commands_of_a_page_work_one_after_the_other(page: str, project: Path) -> None:
    for line in lines(page):
        if not line.needs:
            play(line, project)


def play(line: Line, project: Path) -> None:
    words = [simulated(word) for word in line.words]
    own = skillopt_words(words)
    if own is not None:
        code = run(own)
        assert code in (ENDED_IN_ORDER if own[0] == "train" else {0}), f"{line.page}: {line.words} ended with {code}"
        return
    assert words[0] in ("cat", "diff", "head"), f"{line.page}: {line.words} is nothing this test can run"
    code = subprocess.run(words, cwd=project, capture_output=True).returncode
    assert code in ((0, 1) if words[0] == "diff" else (0,)), f"{line.page}: {line.words} ended with {code}"


@pytest.mark.parametrize("line", NOT_RUN, ids=lambda line: " ".join(line.words)[:60])
def test_a_command_that_is_not_run_here_can_be_read(line: Line) -> None:
    assert line.needs in NEEDS
    own = skillopt_words(line.words)
    if own is not None:
        assert_parsed(own)
    elif line.words[0] == "make":
        assert re.search(rf"^{line.words[1]}:.*##", (ROOT / "Makefile").read_text("utf-8"), re.M)
    elif line.words[0] == "export":
        assert line.words[1].split("=")[0] in {name for one in PROVIDERS.values() for name in one.key_variables}
    else:
        pytest.fail(f"{line.page}: {line.words} is no command that a page may hold")


def assert_parsed(words: list[str]) -> None:
    """The parser takes the words, with every option there is."""
    command: Any = typer.main.get_command(app)
    while hasattr(command, "commands"):
        name, *words = words
        command = command.commands[name]
    command.make_context(command.name, list(words))


def test_only_commands_that_need_something_are_left_out() -> None:
    """Most commands are run; the marks do not spread."""
    everything = [line for page in PAGES for line in lines(page)]
    assert len(everything) - len(NOT_RUN) > len(NOT_RUN)
    assert all(line.words[0] == "make" for line in NOT_RUN if line.needs == "make")


@pytest.mark.parametrize(
    ("page", "text"),
    [(page, text) for page in PAGES if page != "docs/environments.md" for text in yaml_blocks(page)],
)
def test_every_configuration_on_a_page_loads(page: str, text: str, tmp_path: Path) -> None:
    """F125; the blocks of docs/environments.md are tested beside what they do."""
    path = tmp_path / "config.yaml"
    path.write_text(text, "utf-8")
    config = load_config(path).config
    assert config.model.target.name and config.model.optimizer.name
