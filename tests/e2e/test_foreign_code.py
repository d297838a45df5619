"""A user's own code may do anything: it ends in one message with file and line, or in nothing at all."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import Said, in_a_process, write_tiny_run

from skillopt.cli.main import run

ENVIRONMENT = """
import sys
from pydantic import field_validator
from skillopt import Environment, EnvironmentSettings, Message, Presentation, Score


class Wordless(Exception):
    def __str__(self):
        raise ValueError("no words either")


def recurse():
    return recurse()


class Unshowable:
    def __repr__(self):
        raise RuntimeError("not to be shown")


def act(where):
    if where == {where!r}:
        {action}


act("import")


class MySettings(EnvironmentSettings):
    key: str = "value"

    @field_validator("key")
    @classmethod
    def _key(cls, key):
        act("settings")
        return key


class Mine(Environment[MySettings]):
    name = "mine"
    Settings = MySettings

    def __init__(self, settings):
        super().__init__(settings)
        act("init")

    @property
    def identity(self):
        return act("identity") or super().identity

    @property
    def purpose(self):
        return act("purpose") or ""

    def check(self, task):
        act("check")

    def warnings(self, tasks):
        return act("warnings") or ()

    def present(self, task):
        return act("present") or Presentation((Message("user", task.fields["question"]),))

    def score(self, task, trajectory):
        solved = int(trajectory.output.strip() == task.fields["answer"])
        return act("score") or Score(solved, float(solved))


def scorer(predicted, answer):
    return act("scorer") or predicted == answer


def rule(comparison):
    return act("rule") or comparison.after > comparison.before
"""
RAISES = {
    "ZeroDivisionError": "1 / 0",
    "SystemExit": "sys.exit(0)",
    "KeyboardInterrupt": "raise KeyboardInterrupt",
    "RecursionError": "recurse()",
    "Wordless": "raise Wordless",
    "StopIteration": "raise StopIteration",
    "GeneratorExit": "raise GeneratorExit",
    "MemoryError": "raise MemoryError",
}
LOADING = ("import", "settings", "init", "identity", "purpose", "check", "warnings")
MEASURING = ("present", "score", "scorer")


def write(directory: Path, where: str, action: str, **settings: Any) -> Path:
    """Write a run whose own code does something at one place."""
    config = write_tiny_run(directory, **settings_for(where), **settings)
    (directory / "mine.py").write_text(
        ENVIRONMENT.replace("{where!r}", repr(where)).replace("{action}", action), "utf-8"
    )
    return config


def settings_for(where: str) -> dict[str, Any]:
    if where == "scorer":
        return {"env__scorer": "mine.py:scorer"}
    if where == "rule":
        return {"evaluation__acceptance": "mine.py:rule", "env__limit": 8}
    return {"env__name": "mine.py", "env__key": "given"}


def write_disturbing(directory: Path, name: str) -> Path:
    """Write a run whose own code disturbs the process wherever it runs; what it says of itself is asked in passing."""
    config = write(directory, "nowhere", DISTURBANCES[name])
    path = directory / "mine.py"
    text = path.read_text("utf-8")
    path.write_text(text.replace("if where == 'nowhere':", "if where not in ('identity', 'purpose'):"), "utf-8")
    return config


def line_of(config: Path, action: str) -> int:
    lines = (config.parent / "mine.py").read_text("utf-8").splitlines()
    (number,) = (number for number, line in enumerate(lines, 1) if line.strip() == action)
    return number


def called(capsys: pytest.CaptureFixture[str], *words: str | Path) -> Said:
    code = run([str(word) for word in words])
    said = capsys.readouterr()
    return code, said.out, said.err


@pytest.mark.parametrize("name", RAISES)
@pytest.mark.parametrize("where", LOADING)
def test_what_is_raised_while_it_is_loaded_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, name: str
) -> None:
    action = RAISES[name]
    config = write(tmp_path, where, action)
    code, _, error = called(capsys, "train", config)
    assert code == 1
    # A recursion ends in the function that recurses.
    line = line_of(config, "return recurse()" if action == "recurse()" else action)
    assert error.startswith(f"error: {tmp_path / 'mine.py'}, line {line}: ")
    assert name in error.splitlines()[0] and "Traceback" not in error
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", RAISES)
@pytest.mark.parametrize("where", MEASURING)
def test_what_is_raised_on_a_task_leaves_it_unmeasured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, name: str
) -> None:
    """The target's work is kept all the same, so that mended code pays for none of it again."""
    action = RAISES[name]
    config = write(tmp_path, where, action)
    code, _, error = called(capsys, "train", config)
    assert code == 13
    line = line_of(config, "return recurse()" if action == "recurse()" else action)
    assert "of 4 tasks could not be measured" in error and f"(mine.py, line {line})" in error
    assert "Traceback" not in error and str(tmp_path / "mine.py") not in error


@pytest.mark.parametrize("name", RAISES)
def test_what_an_acceptance_rule_raises_is_one_message_and_nothing_is_lost(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    config = write(tmp_path, "rule", RAISES[name])
    code, _, error = called(capsys, "train", config)
    assert code == 1
    assert f"the acceptance rule rule raised {name}" in error and f"error: {tmp_path / 'mine.py'}, line " in error
    assert "Traceback" not in error
    evidence = tmp_path / "run" / "evidence.sqlite"
    assert evidence.exists() and evidence.stat().st_size > 0


@pytest.mark.parametrize(
    ("where", "value", "message"),
    [
        ("identity", "return 7", "its identity raised TypeError"),
        ("identity", "return {'a': float('nan')}", "its identity raised ValueError"),
        ("identity", "return {'a': object()}", "its identity raised TypeError"),
        ("purpose", "return 7", "its purpose is 7; it must be a text"),
        ("purpose", "return Unshowable()", "its purpose is a Unshowable; it must be a text"),
        ("warnings", "return 'one sentence'", "its warnings returned 'one sentence'"),
        ("warnings", "return (7,)", "its warnings returned (7,)"),
        ("warnings", "return 7", "its warnings returned 7"),
        ("present", "return 'text'", "present returned 'text', which is no Presentation"),
        ("present", "return Presentation('text')", "messages is 'text'; it must be a tuple of Message"),
        ("present", "return Presentation(({'role': 'user'},))", "it must be a Message with a text"),
        ("present", "return Presentation((Message('user', 7),))", "it must be a Message with a text"),
        ("score", "return 1.0", "score returned 1.0, which is no Score"),
        ("score", "return Unshowable()", "score returned a Unshowable, which is no Score"),
        ("score", "return Score(1, float('nan'))", "soft is nan; it must be a number from 0 to 1"),
        ("scorer", "return 'yes'", "it must return a Score, a truth value"),
    ],
)
def test_what_it_returns_must_be_what_was_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], where: str, value: str, message: str
) -> None:
    code, _, error = called(capsys, "train", write(tmp_path, where, value))
    assert code in (1, 13)
    assert message in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("Settings = None", "its Settings are None"),
        ("Settings = dict", "its Settings are <class 'dict'>"),
        ("version = 2", "its version is 2; it must be a text"),
        ("name = 7", "its name is 7; it must be a text"),
    ],
)
def test_what_a_class_says_of_itself_must_have_its_form(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], declared: str, message: str
) -> None:
    config = write(tmp_path, "nowhere", "pass")
    path = tmp_path / "mine.py"
    path.write_text(
        path.read_text("utf-8").replace("    Settings = MySettings", f"    Settings = MySettings\n    {declared}")
    )
    code, _, error = called(capsys, "check", config, "--offline")
    assert code == 1
    assert error.startswith(f"error: {path}: Mine: ") and message in error


DISTURBANCES = {
    "prints": "print('NOISE'); print('NOISE', file=sys.__stdout__, flush=True)",
    "prints_below_python": "import os; os.write(1, b'NOISE\\n'); os.system('echo NOISE')",
    "goes_elsewhere": "import os; os.chdir('/')",
    "closes": "sys.stdout.close(); sys.stderr.close()",
    "closes_the_first": "sys.__stdout__.close(); sys.__stderr__.close()",
    "takes_away": "sys.stdout = sys.stderr = sys.stdin = None",
    "puts_another": "import io; sys.stdout = io.StringIO()",
}


@pytest.mark.parametrize("name", DISTURBANCES)
def test_what_it_does_to_the_process_disturbs_no_events(tmp_path: Path, name: str) -> None:
    """Anywhere: while it is loaded, and on every task. Relative paths mean afterwards what they meant before."""
    config = write_disturbing(tmp_path, name)
    settings = json.loads(config.read_text("utf-8"))
    del settings["env"]["out_root"]
    config.write_text(json.dumps(settings), "utf-8")
    code, said, error = in_a_process("train", config.name, "--json", cwd=tmp_path)
    assert code in (0, 10, 11), error
    events = [json.loads(line) for line in said.splitlines()]
    assert events[0]["event"] == "RunStarted" and events[-1]["event"] == "RunEnded"
    assert "Traceback" not in error
    assert ("NOISE" in error) == name.startswith("prints")
    (directory,) = (tmp_path / "outputs").iterdir()
    assert (directory / "summary.json").exists()


@pytest.mark.parametrize("name", DISTURBANCES)
def test_what_it_does_to_the_process_disturbs_no_report(tmp_path: Path, name: str) -> None:
    config = write_disturbing(tmp_path, name)
    code, said, error = in_a_process("check", config.name, cwd=tmp_path)
    assert code == 0, error
    assert re.search(r"^target    ok", said, re.MULTILINE) and "Plan: " in said
    assert error.replace("NOISE\n", "") == ""
