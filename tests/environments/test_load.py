from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import pytest

from skillopt.config.env_settings import EnvSettings
from skillopt.environments.load import find_environment, load_environment
from skillopt.environments.question_answering import QuestionAnswering
from skillopt.errors import ConfigError, EnvironmentLoadError
from skillopt.types import Task, Trajectory

ONE = """
from skillopt import Environment, EnvironmentSettings, Message, Presentation, Score

class Keys(EnvironmentSettings):
    mark: str = "!"

class Shout(Environment[Keys]):
    name = "shout"
    Settings = Keys

    def present(self, task):
        return Presentation((Message("user", task.fields["word"] + self.settings.mark),))

    def score(self, task, trajectory):
        return Score(int(trajectory.output == task.fields["word"].upper()), 0.0)
"""
TWO = ONE + "\nclass Louder(Shout):\n    name = 'louder'\n"
NONE = "from skillopt import Environment\nx = 1\n"
UNFINISHED = """
from skillopt import Environment, EnvironmentSettings

class Half(Environment[EnvironmentSettings]):
    name = "half"

    def present(self, task):
        raise NotImplementedError
"""
NAMELESS = ONE.replace('    name = "shout"\n', "")
SILENT = ONE.replace("    Settings = Keys\n", "    Settings = Keys\n    identity = {'name': 'shout'}\n")


def env(name: str | Path, **own: Any) -> EnvSettings:
    return EnvSettings.model_validate({"name": str(name), **own})


def written(directory: Path, text: str, name: str = "my_env.py") -> Path:
    (directory / name).write_text(text, "utf-8")
    return directory / name


def installed(directory: Path, monkeypatch: pytest.MonkeyPatch, target: str, package: str = "pkg-one") -> None:
    """Install a real distribution's metadata that offers an environment named `shouting`."""
    info = directory / package / f"{package.replace('-', '_')}-3.1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 3.1\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[skillopt.environments]\nshouting = {target}\n", "utf-8")
    monkeypatch.syspath_prepend(directory / package)


@pytest.mark.parametrize("name", ["question_answering", "qa"])
def test_built_in_names_need_no_code(name: str) -> None:
    environment = load_environment(env(name, prompt="Q: {question}"))
    assert isinstance(environment, QuestionAnswering)
    assert environment.settings.prompt == "Q: {question}"


def test_a_file_is_loaded_with_its_own_settings(tmp_path: Path) -> None:
    environment = load_environment(env(written(tmp_path, ONE), mark="?"))
    task = Task("1", {"word": "hey"})
    assert environment.present(task).messages[0].content == "hey?"
    assert environment.score(task, Trajectory((), "HEY")).hard == 1


def test_a_class_of_several_is_named_behind_a_colon(tmp_path: Path) -> None:
    path = written(tmp_path, TWO)
    assert load_environment(env(f"{path}:Louder")).name == "louder"
    with pytest.raises(EnvironmentLoadError, match=r"several environments: Shout, Louder") as caught:
        load_environment(env(path))
    assert "my_env.py:Shout" in caught.value.hint
    with pytest.raises(EnvironmentLoadError, match="'Quiet'") as caught:
        load_environment(env(f"{path}:Quiet"))
    assert "Shout, Louder" in caught.value.hint


def test_an_unfinished_base_class_is_no_second_environment(tmp_path: Path) -> None:
    path = written(tmp_path, UNFINISHED + ONE.replace("Environment[Keys]", "Half"))
    assert load_environment(env(path)).name == "shout"


def test_the_identity_of_a_file_holds_the_digest_of_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    here = load_environment(env(written(tmp_path, ONE)))
    there = load_environment(env(written(tmp_path / "elsewhere", ONE, "other.py")))
    changed = load_environment(env(written(tmp_path, ONE + "# a comment\n")))
    assert here.identity["code"] == hashlib.sha256(ONE.encode()).hexdigest()
    assert here.identity == there.identity, "a digest is of content, never of a path"
    assert here.identity != changed.identity


def test_an_identity_that_hides_the_code_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLoadError, match=r"Shout.identity leaves out which code it is") as caught:
        load_environment(env(written(tmp_path, SILENT)))
    assert "super().identity" in caught.value.hint


def test_files_of_one_name_live_side_by_side_in_one_process(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    before = set(sys.path)
    first = load_environment(env(written(tmp_path, ONE)))
    second = load_environment(env(written(tmp_path / "b", ONE.replace('"!"', '"..."'))))
    word = Task("1", {"word": "a"})
    assert [e.present(word).messages[0].content for e in (first, second, first)] == ["a!", "a...", "a!"]
    assert type(first) is not type(second)
    assert set(sys.path) == before
    assert "my_env" not in sys.modules


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (NONE, "no subclass of Environment"),
        (UNFINISHED, "Half lacks score"),
        (NAMELESS, "Shout has no name"),
        ("import not_installed_anywhere\n", "line 1: ModuleNotFoundError"),
        ("class Broken(:\n", "line 1: "),
        (ONE + "\n1 / 0\n", "ZeroDivisionError"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, message: str) -> None:
    """F13, More 8: an environment that fails to load is an error with its reason, never another environment."""
    with pytest.raises(EnvironmentLoadError, match=message) as caught:
        load_environment(env(written(tmp_path, text)))
    assert "my_env.py" in caught.value.message


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentLoadError, match=r"nowhere\.py"):
        load_environment(env(tmp_path / "nowhere.py"))


@pytest.mark.parametrize(("name", "nearest"), [("question_answer", "question_answering"), ("QA", "qa"), ("zzz", "")])
def test_an_unknown_name_is_an_error_with_the_nearest_one(name: str, nearest: str) -> None:
    """More 8: a misspelt name is never a default."""
    with pytest.raises(EnvironmentLoadError, match=f"no environment '{name}'") as caught:
        load_environment(env(name))
    assert ("Did you mean" in caught.value.hint) == bool(nearest)
    assert nearest in caught.value.hint
    assert "question_answering" in caught.value.hint


def test_an_unknown_key_is_an_error_with_the_nearest_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"env\.promt.*env\.prompt"):
        load_environment(env("qa", promt="{question}"))
    with pytest.raises(ConfigError, match=r"env\.marc.*env\.mark"):
        load_environment(env(written(tmp_path, ONE), marc="?"))


def test_the_caller_can_bring_its_own_validation() -> None:
    seen: list[Any] = []

    def validate(settings_class: Any, values: Any) -> Any:
        seen.append((settings_class, dict(values)))
        return settings_class()

    load_environment(env("qa", scorer="f1"), validate)
    assert seen == [(QuestionAnswering.Settings, {"scorer": "f1"})]


def test_an_entry_point_is_an_environment_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, "entry_point_one:Shout")
    written(tmp_path / "pkg-one", ONE, "entry_point_one.py")
    environment = load_environment(env("shouting"))
    assert environment.name == "shout"
    assert environment.identity["code"] == "pkg-one 3.1"
    monkeypatch.delitem(sys.modules, "entry_point_one")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("no_such_module_of_ours:Shout", "cannot be loaded: ModuleNotFoundError"),
        ("json:NoSuchClass", "cannot be loaded: AttributeError"),
        ("json:JSONDecoder", "no subclass"),
    ],
)
def test_an_entry_point_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, target: str, message: str
) -> None:
    installed(tmp_path, monkeypatch, target)
    with pytest.raises(EnvironmentLoadError, match=message) as caught:
        find_environment("shouting")
    assert "pkg-one 3.1" in caught.value.message


def test_a_name_that_two_packages_offer_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, monkeypatch, "a:B")
    installed(tmp_path, monkeypatch, "c:D", "pkg-two")
    with pytest.raises(EnvironmentLoadError, match=r"pkg-one 3\.1, pkg-two 3\.1"):
        find_environment("shouting")
