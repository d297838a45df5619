"""Which code a configuration names, told without running it."""

from __future__ import annotations

import hashlib
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path

import pytest

from skillopt.config.schema import Config
from skillopt.environments import named_code as module
from skillopt.environments.named_code import named_code
from skillopt.errors import EnvironmentLoadError

MODELS = {"optimizer": {"name": "simulated:optimizer"}, "target": {"name": "simulated:target"}}


def config(**env: str) -> Config:
    return Config.model_validate({"model": MODELS, "env": env})


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package whose every module leaves a mark when it is imported."""
    directory = tmp_path / "trapped_package"
    (directory / "inner").mkdir(parents=True)
    trap = "from pathlib import Path\nPath(__file__ + '.ran').touch()\n"
    for file in ("__init__.py", "inner/__init__.py", "inner/code.py"):
        (directory / file).write_text(trap, "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    return directory


def test_what_is_built_in_names_no_code() -> None:
    assert named_code(config()) == ()
    assert named_code(config(name="qa", scorer="number")) == ()


def test_a_module_is_found_without_importing_it_or_what_is_around_it(package: Path) -> None:
    (found,) = named_code(config(scorer="trapped_package.inner.code:score"))
    path = package / "inner" / "code.py"
    assert (found.key, found.path) == ("env.scorer", path)
    assert found.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert list(package.rglob("*.ran")) == []
    assert not any(name.startswith("trapped_package") for name in sys.modules)


@pytest.mark.parametrize("name", ["no_such_package", "trapped_package.nope.code", "sys"])
@pytest.mark.usefixtures("package")
def test_one_that_only_importing_would_find_has_no_file(name: str) -> None:
    (found,) = named_code(config(scorer=f"{name}:score"))
    assert (found.path, found.sha256) == (None, "")


def test_an_entry_point_is_told_by_its_package_and_not_loaded(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = EntryPoint("mine", "trapped_package.inner.code:Mine", module.ENTRY_POINT_GROUP)

    def offered(group: str) -> EntryPoints:
        assert group == module.ENTRY_POINT_GROUP
        return EntryPoints([entry])

    monkeypatch.setattr(module, "entry_points", offered)
    (found,) = named_code(config(name="mine"))
    assert (found.key, found.reference, found.path) == ("env.name", entry.value, package / "inner" / "code.py")
    assert found.package == "unknown"
    assert list(package.rglob("*.ran")) == []


def test_an_environment_that_is_not_there_is_an_error() -> None:
    with pytest.raises(EnvironmentLoadError, match="there is no environment 'nope'"):
        named_code(config(name="nope"))
