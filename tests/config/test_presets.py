"""Named sets of settings, under everything that a user sets."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from skillopt.config.load import LoadedConfig, load_config
from skillopt.config.presets import PRESETS
from skillopt.config.schema import Preset
from skillopt.errors import ConfigError

MODELS = "model: {optimizer: 'simulated:optimizer', target: 'simulated:target'}\n"


def loaded(directory: Path, text: str = "", *overrides: str) -> LoadedConfig:
    path = directory / "config.yaml"
    path.write_text(MODELS + text, encoding="utf-8")
    return load_config(path, overrides)


def _at(mapping: dict[str, object], path: tuple[str, ...]) -> object:
    value: object = mapping
    for key in path:
        assert isinstance(value, dict)
        value = value[key]
    return value


@pytest.mark.parametrize("name", get_args(Preset))
def test_every_preset_sets_what_it_says_and_each_value_knows_it(tmp_path: Path, name: Preset) -> None:
    config = loaded(tmp_path, f"preset: {name}\n")
    dumped = config.config.model_dump()
    for key, value in PRESETS[name].items():
        assert _at(dumped, key) == value
        assert str(config.provenance.of(key)) == f"preset {name}"
    assert config.config.preset == name


def test_the_default_is_the_standard_preset(tmp_path: Path) -> None:
    assert loaded(tmp_path).config == loaded(tmp_path, "preset: standard\n").config


@pytest.mark.parametrize("name", [name for name in get_args(Preset) if PRESETS[name]])
def test_what_the_user_sets_wins_over_a_preset_wherever_it_stands(tmp_path: Path, name: Preset) -> None:
    """In a file, in its base, or on the command line; before the preset is named or after."""
    (section, key), value = next(iter(PRESETS[name].items()))
    other = {"learning_rate": 7, "final_repeats": 9}.get(key, value)
    (tmp_path / "base.yaml").write_text(f"{section}: {{{key}: {other}}}\n", encoding="utf-8")
    for config in (
        loaded(tmp_path, f"preset: {name}\n{section}: {{{key}: {other}}}\n"),
        loaded(tmp_path, f"_base_: base.yaml\npreset: {name}\n"),
        loaded(tmp_path, "", f"{section}.{key}={other}", f"preset={name}"),
    ):
        assert _at(config.config.model_dump(), (section, key)) == other
        assert config.provenance.of((section, key)).kind in ("file", "command line")


def test_the_last_preset_that_is_named_counts(tmp_path: Path) -> None:
    config = loaded(tmp_path, "preset: careful\n", "preset=published")
    assert config.config == loaded(tmp_path, "preset: published\n").config


@pytest.mark.parametrize("written", ["quick", "null", "[fast]", "{name: fast}", "7"])
def test_a_preset_that_does_not_exist_is_one_error_with_the_names_there_are(tmp_path: Path, written: str) -> None:
    """F76."""
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, f"preset: {written}\n")
    assert "published, standard, fast, careful" in str(caught.value)
    assert "line 2" in str(caught.value)


def test_the_resolved_file_loads_as_the_same_configuration(tmp_path: Path) -> None:
    config = loaded(tmp_path, "preset: published\n")
    (tmp_path / "resolved.yaml").write_text(config.to_yaml(), encoding="utf-8")
    assert load_config(tmp_path / "resolved.yaml").config == config.config
