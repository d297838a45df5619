from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from skillopt.environments.python_code import load_file, load_module
from skillopt.errors import EnvironmentLoadError


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_the_bytes_that_run_are_the_bytes_that_are_digested(tmp_path: Path) -> None:
    """A rewritten file of equal size and time must not be answered by cached bytecode."""
    path = write(tmp_path / "code.py", "X = 1\n")
    first = load_file(path)
    write(path, "X = 2\n")
    second = load_file(path)
    assert (first.module.X, second.module.X) == (1, 2)
    assert second.sha256 == hashlib.sha256(b"X = 2\n").hexdigest()
    assert not (tmp_path / "__pycache__").exists()


def test_the_file_says_its_own_encoding(tmp_path: Path) -> None:
    assert load_file(write(tmp_path / "code.py", b"# coding: latin-1\nX = '\xe9'\n")).module.X == "\u00e9"


def test_a_module_cannot_shadow_a_package(tmp_path: Path) -> None:
    loaded = load_file(write(tmp_path / "json.py", "NAME = __name__\n"))
    assert loaded.module.NAME.startswith("_skillopt_code_")
    assert sys.modules["json"] is not loaded.module


def test_dataclasses_with_deferred_annotations_work(tmp_path: Path) -> None:
    text = "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n"
    assert load_file(write(tmp_path / "code.py", text)).module.A(1).x == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1\ndef broken(:\n", r"code\.py, line 2: "),
        ("x = 1\n\nimport no_such_package_at_all\n", r"code\.py, line 3: ModuleNotFoundError"),
        ("def f():\n    return 1 / 0\nf()\n", r"code\.py, line 2: ZeroDivisionError"),
        ("raise SystemExit(3)\n", r"code\.py, line 1: SystemExit: 3"),
        (b"x = 1\0\n", "null"),
        (b"x = '\xff'\n", r"code\.py"),
    ],
)
def test_whatever_goes_wrong_names_file_and_line(tmp_path: Path, text: str | bytes, message: str) -> None:
    path = write(tmp_path / "code.py", text)
    before = set(sys.modules)
    with pytest.raises(EnvironmentLoadError, match=message):
        load_file(path)
    assert {name for name in set(sys.modules) - before if name.startswith("_skillopt")} == set()


@pytest.mark.parametrize("name", ["missing.py", "."])
def test_a_missing_file_and_a_directory_are_errors(tmp_path: Path, name: str) -> None:
    with pytest.raises(EnvironmentLoadError, match=str(tmp_path / name)):
        load_file(tmp_path / name)


def test_an_installed_module_is_known_by_its_source() -> None:
    loaded = load_module("json.decoder")
    assert loaded.sha256 == hashlib.sha256(Path(str(loaded.module.__file__)).read_bytes()).hexdigest()


@pytest.mark.parametrize("name", ["no_such_package_at_all", "sys", ".relative"])
def test_a_module_that_cannot_be_used_is_an_error(name: str) -> None:
    with pytest.raises(EnvironmentLoadError, match="module"):
        load_module(name)


def test_a_python_file_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "my.py")
    with pytest.raises(EnvironmentLoadError, match=r"my\.py is a pipe and not a file"):
        load_file(tmp_path / "my.py")
