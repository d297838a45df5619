"""Which file a local model's name means, and what proves it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from skillopt.errors import ConfigError
from skillopt.models.weights import KNOWN, cache_directory, find_weights, resolve

NAME = "qwen2.5-coder-0.5b"


def test_the_pinned_files_are_the_official_ones() -> None:
    assert {weights.name: weights.sha256 for weights in KNOWN.values()} == {
        "qwen2.5-coder-0.5b": "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        "qwen2.5-coder-1.5b": "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    }
    assert all(name == weights.name for name, weights in KNOWN.items())


@pytest.mark.parametrize(
    ("environment", "base"),
    [
        ({"SKILLOPT_CACHE": "/a", "XDG_CACHE_HOME": "/b"}, Path("/a")),
        ({"SKILLOPT_CACHE": "", "XDG_CACHE_HOME": "/b"}, Path("/b")),
        ({"SKILLOPT_CACHE": "~/c"}, Path.home() / "c"),
        ({}, Path.home() / ".cache"),
    ],
)
def test_the_cache_is_where_the_environment_says(environment: dict[str, str], base: Path) -> None:
    assert cache_directory(environment) == base / "skillopt" / "models"


def test_an_unknown_name_is_an_error_that_names_the_nearest() -> None:
    """More 8: a misspelt name is never a default."""
    with pytest.raises(ConfigError, match=r"no embedded model 'qwen2.5-coder-0.5'; did you mean 'qwen2.5-coder-0.5b'"):
        find_weights("qwen2.5-coder-0.5")


def test_letter_case_of_a_name_does_not_matter() -> None:
    assert find_weights("Qwen2.5-Coder-0.5B").name == NAME


def test_weights_that_were_not_fetched_are_an_error_that_says_how(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        resolve(NAME, cache=tmp_path)
    assert "not on this machine" in raised.value.message
    assert f"skillopt models fetch {NAME}" in raised.value.hint


def test_fetched_weights_that_changed_since_are_an_error(tmp_path: Path) -> None:
    (tmp_path / KNOWN[NAME].file_name).write_bytes(b"GGUF and something else")
    with pytest.raises(ConfigError, match="damaged: its sha256 is") as raised:
        resolve(NAME, cache=tmp_path)
    assert f"skillopt models fetch {NAME}" in raised.value.hint


def test_a_path_means_that_file_and_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "my model.GGUF"
    path.write_bytes(b"GGUF rest")
    weights = resolve(str(path), cache=tmp_path / "cache")
    assert weights.path == path
    assert weights.sha256 == hashlib.sha256(b"GGUF rest").hexdigest()


@pytest.mark.parametrize("content", [b"", b"GGU", b"<html>not found</html>"])
def test_a_file_of_another_format_is_an_error(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "page.gguf"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=r"page\.gguf is no GGUF file"):
        resolve(str(path), cache=tmp_path)


def test_a_path_that_cannot_be_read_is_an_error_that_says_why(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.gguf cannot be read: No such file"):
        resolve(str(tmp_path / "missing.gguf"), cache=tmp_path)
    (tmp_path / "folder.gguf").mkdir()
    with pytest.raises(ConfigError, match=r"folder\.gguf cannot be read: Is a directory"):
        resolve(str(tmp_path / "folder.gguf"), cache=tmp_path)
