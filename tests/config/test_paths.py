"""Paths are relative to where they were written, and absolute afterwards."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.config.load import load_config
from skillopt.errors import ConfigError

MODELS = "model: {optimizer: 'a:b', target: 'a:b'}\n"


def env_of(directory: Path, text: str, *overrides: str, working_directory: Path | None = None) -> dict[str, object]:
    (directory / "c.yaml").write_text(MODELS + text, "utf-8")
    return load_config(directory / "c.yaml", overrides, working_directory=working_directory).config.env.model_dump()


def test_a_path_of_a_file_is_relative_to_that_file(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "b.yaml").write_text("env: {data_path: d.jsonl, skill_init: ../s.md}", "utf-8")
    (tmp_path / "c.yaml").write_text("_base_: base/b.yaml\n" + MODELS + "env: {skill_init: t.md}", "utf-8")
    env = load_config(tmp_path / "c.yaml", ["env.out_root=out"], working_directory=tmp_path / "base").config.env
    assert env.data_path == str(tmp_path / "base" / "d.jsonl")
    assert env.skill_init == str(tmp_path / "t.md")
    assert env.out_root == str(tmp_path / "base" / "out")


def test_the_home_directory_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert env_of(tmp_path, "env: {data_path: ~/d.csv}")["data_path"] == str(tmp_path / "home" / "d.csv")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("name", "my_env.py", "{}/my_env.py"),
        ("name", "sub/my env.py:Mine", "{}/sub/my env.py:Mine"),
        ("name", "question_answering", "question_answering"),
        ("scorer", "score.py:score", "{}/score.py:score"),
        ("scorer", "package.module:score", "package.module:score"),
        ("data_root", "sheets", "{}/sheets"),
        ("documents_dir", "docs", "{}/docs"),
        ("anything", "./x", "{}/x"),
        ("anything", "x/y", "x/y"),
        ("docs_dir", "https://host/x", "https://host/x"),
        ("json_path", "a.b", "a.b"),
    ],
)
def test_what_is_a_path_and_what_is_not(tmp_path: Path, key: str, value: str, expected: str) -> None:
    assert env_of(tmp_path, f"env: {{{key}: '{value}'}}")[key] == expected.format(tmp_path)


@pytest.mark.parametrize(
    ("value", "expected"), [("rule.py:rule", "{}/rule.py:rule"), ("package.module:rule", "package.module:rule")]
)
def test_the_file_of_an_acceptance_rule_is_a_path(tmp_path: Path, value: str, expected: str) -> None:
    (tmp_path / "c.yaml").write_text(f"{MODELS}evaluation: {{acceptance: '{value}', gate_metric: soft}}\n", "utf-8")
    evaluation = load_config(tmp_path / "c.yaml").config.evaluation
    assert (evaluation.acceptance, evaluation.gate_metric) == (expected.format(tmp_path), "soft")


def test_a_list_of_directories_is_made_absolute(tmp_path: Path) -> None:
    assert env_of(tmp_path, "env: {data_dirs: [a, /b]}")["data_dirs"] == [str(tmp_path / "a"), "/b"]


@pytest.mark.parametrize("value", ['"a\\0b"', "~nobody-of-this-name/x"])
def test_text_that_is_no_path_is_an_error_with_its_place(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"env.data_path \(.*c.yaml, line 2\) is no path"):
        env_of(tmp_path, f"env: {{data_path: {value}}}")
