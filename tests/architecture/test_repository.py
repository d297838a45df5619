"""What may stand in the repository: nothing of one machine, and locks that say the same."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOT_COMMITTED = {".git", ".venv", "__pycache__", "build", "dist", "outputs", "runs"}
REGISTRY = re.compile(r"\b(?:pypi\.org|pythonhosted\.org|npmjs\.(?:org|com)|anaconda\.org|proxy\.golang\.org)")
MACHINE_PATH = re.compile(r"(?<![\w.~$}/-])(?:/(?:root|home|work|opt|mnt|Users|private)/|[A-Z]:\\Users\\)\w")
PIN = re.compile(r"^([a-z0-9.-]+)==([^\s;\\]+)", re.MULTILINE)


def committed() -> Iterator[Path]:
    for directory, folders, files in os.walk(ROOT):
        folders[:] = [
            name for name in folders
            if name not in NOT_COMMITTED and not name.endswith((".egg-info", "_cache")) and name != ".hypothesis"
        ]  # fmt: skip
        yield from (Path(directory, name) for name in files)


def lines_with(pattern: re.Pattern[str]) -> list[str]:
    found: list[str] = []
    for path in committed():
        text = path.read_bytes().decode("utf-8", "replace")
        found += [
            f"{path.relative_to(ROOT).as_posix()}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}"
            for match in pattern.finditer(text)
        ]
    return found


def pins(lock: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / "requirements" / lock).read_text("utf-8")))


def test_no_package_registry_is_named() -> None:
    """Where packages come from is the user's setting; a host written here would defeat a mirror."""
    assert lines_with(REGISTRY) == []


def test_no_path_of_one_machine_is_named() -> None:
    assert lines_with(MACHINE_PATH) == []


@pytest.mark.parametrize("lock", ["dev.lock", "local.lock"])
def test_every_locked_package_has_its_hash_and_no_address(lock: str) -> None:
    text = (ROOT / "requirements" / lock).read_text("utf-8")
    requirements = re.split(r"\n(?=\S)", text.strip())
    assert requirements
    assert [entry for entry in requirements if not PIN.match(entry) or "--hash=sha256:" not in entry] == []


def test_both_locks_pin_the_same_versions() -> None:
    dev = pins("dev.lock")
    assert {name: version for name, version in pins("local.lock").items() if dev.get(name) != version} == {}


def test_every_direct_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras, groups = project["project"]["optional-dependencies"], project["dependency-groups"]
    quick_start = [*project["project"]["dependencies"], *extras["local"], *groups["build"]]
    everything = [*quick_start, *extras["providers"], *(entry for entry in groups["dev"] if isinstance(entry, str))]
    for lock, requirements in (("local.lock", quick_start), ("dev.lock", everything)):
        names = {re.split(r"[\[<>=~! ]", requirement)[0] for requirement in requirements}
        assert names - pins(lock).keys() == set(), lock
