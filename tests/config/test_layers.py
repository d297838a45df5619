"""What the user wrote, in one normal form."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from skillopt.config.layers import file_layers, override_layer
from skillopt.config.provenance import COMMAND_LINE
from skillopt.errors import ConfigError, UsageError


def test_the_files_a_file_is_built_on_come_first(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "root.yaml").write_text("train: {seed: 1}", "utf-8")
    (tmp_path / "sub" / "mid.yaml").write_text("_base_: ../root.yaml\ntrain: {seed: 2}", "utf-8")
    (tmp_path / "top.yaml").write_text("_base_: sub/mid.yaml\n", "utf-8")
    assert [layer.values for layer in file_layers(tmp_path / "top.yaml")] == [
        {"train": {"seed": 1}},
        {"train": {"seed": 2}},
        {},
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("_base_: top.yaml", "line 1: _base_ names .*top.yaml, which is built on this file"),
        (
            "\n_base_: mssing.yaml",
            "line 2: _base_ names .*mssing.yaml, which does not exist\nDid you mean .*missing.yaml",
        ),
        ("_base_: [a.yaml]", "_base_ must be the path of one file"),
        ("_base_:", "_base_ must be the path of one file"),
        ("_base_: .", "which is a directory and not a file"),
    ],
)
def test_a_base_that_cannot_be_used_is_named_with_its_line(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "missing.yaml").touch()
    (tmp_path / "top.yaml").write_text(content, "utf-8")
    with pytest.raises(ConfigError, match=message):
        file_layers(tmp_path / "top.yaml")


def test_too_many_files_built_on_one_another_are_refused(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number}.yaml").write_text(f"_base_: {number + 1}.yaml\n", "utf-8")
    with pytest.raises(ConfigError, match=r"15.yaml, line 1: more than 16 files"):
        file_layers(tmp_path / "0.yaml")


def test_what_is_no_configuration_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"env: {name: caf\xe9}")
    (tmp_path / "large.yaml").write_text("# " + "x" * 1_000_001, "utf-8")
    os.mkfifo(tmp_path / "pipe.yaml")
    for name, message in {
        "latin.yaml": "not UTF-8 text",
        "large.yaml": "too large",
        "pipe.yaml": "pipe.yaml is a pipe and not a file",
        ".": "is a directory and not a file",
        "none.yaml": "does not exist",
        "a\0b": "cannot be read",
        "no/such/c.yaml": "does not exist",
    }.items():
        with pytest.raises(ConfigError, match=message):
            file_layers(tmp_path / name)


def test_a_byte_order_mark_and_any_line_end_are_read(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_bytes(b"\xef\xbb\xbftrain:\r\n  seed: 3\r\n")
    (layer,) = file_layers(tmp_path / "c.yaml")
    assert layer.values == {"train": {"seed": 3}}
    assert layer.origins["train", "seed"].line == 2


def test_a_model_as_text_and_an_empty_section_have_one_form(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("model:\n  target: a:b\n  optimizer:\ntrain:\n", "utf-8")
    (layer,) = file_layers(tmp_path / "c.yaml")
    assert layer.values == {"model": {"target": {"name": "a:b"}, "optimizer": {}}, "train": {}}
    assert layer.replaced == {("model", "target")}
    assert layer.origins["model", "target", "name"].line == 2


@pytest.mark.parametrize(
    ("override", "values"),
    [
        ("train.seed=3", {"train": {"seed": 3}}),
        ("env.note=a=b", {"env": {"note": "a=b"}}),
        ("batch_size=8", {"train": {"batch_size": 8}}),
        ("learning_rate=2", {"optimizer": {"learning_rate": 2}}),
        ("target=a:b", {"model": {"target": {"name": "a:b"}}}),
        ("model.target=a:b", {"model": {"target": {"name": "a:b"}}}),
        ("env.fields={q: prompt}", {"env": {"fields": {"q": "prompt"}}}),
        ("env.fields.q=prompt", {"env": {"fields": {"q": "prompt"}}}),
        ("env.limit=", {"env": {"limit": None}}),
    ],
)
def test_an_override_becomes_a_layer(override: str, values: object) -> None:
    layer = override_layer(override)
    assert layer.values == values
    assert set(layer.origins.values()) == {COMMAND_LINE}


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("train.seed", "section.key=value"),
        ("train.seed =3", "section.key=value"),
        ("=3", "section.key=value"),
        ("--train.seed=3", "section.key=value"),
        ("train..seed=3", "section.key=value"),
        ("train.seed:3", "'train.seed'"),
        ("env.x=[1", "env.x: a value"),
        ("train=3", "train is a section"),
        ("optimizer=a:b", "optimizer is a section"),
        (
            "max_tokens=3",
            "several sections\nWrite model.optimizer.max_tokens or model.target.max_tokens or skill.max_tokens",
        ),
        (f"env{'.a' * 40}=3", "at most 32 keys in a row, not 41"),
        ("batch_sise=3", "unknown setting batch_sise\nDid you mean train.batch_size"),
        ("optimizer_model=x", "unknown setting optimizer_model\nwrite model.optimizer"),
        ("edit_budget=3", "write optimizer.learning_rate"),
        ("qqqqqq=3", "env.KEY=VALUE"),
    ],
)
def test_an_override_that_is_not_understood_says_the_right_form(override: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        override_layer(override)
