"""References between settings, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from skillopt.config.load import LoadedConfig, load_config
from skillopt.errors import ConfigError

MODELS = "model: {optimizer: 'openai:a', target: 'ollama:b'}\n"


def load(directory: Path, text: str, *overrides: str) -> LoadedConfig:
    (directory / "config.yaml").write_text(text, "utf-8")
    return load_config("config.yaml", overrides, working_directory=directory)


def test_a_reference_takes_the_value_of_another_setting_and_its_type(tmp_path: Path) -> None:
    config = load(tmp_path, MODELS + "env:\n  split_seed: ${train.seed}\n", "train.seed=9").config
    assert config.env.split_seed == 9


@pytest.mark.parametrize(
    "reference",
    [
        "${oc.env:SECRET_OF_MINE}",
        "${oc.env:SECRET_OF_MINE,x}",
        "a ${oc.${x}:SECRET_OF_MINE}",
        "${oc.decode:'${oc.env:A}'}",
    ],
)
def test_the_environment_is_no_way_into_a_configuration(
    tmp_path: Path, reference: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More 18."""
    monkeypatch.setenv("SECRET_OF_MINE", "hunter2")
    with pytest.raises(ConfigError, match=r"config.yaml, line 2: env.note: .*api_key_env") as caught:
        load(tmp_path, MODELS + f'env: {{note: "{reference}"}}\n')
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${nope.x}", "env.note refers to something that cannot be resolved"),
        ("${env.note}", "env.note refers to something that cannot be resolved"),
        ("${unclosed", "env.note refers to something that cannot be resolved"),
        ("[a, '${nope}']", "env.note refers to something that cannot be resolved"),
        ("???", "env.note: .* still to be filled in"),
    ],
)
def test_what_cannot_be_resolved_is_an_error_with_its_line(tmp_path: Path, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=rf"config.yaml, line 3: {message}"):
        load(tmp_path, MODELS + f"env:\n  note: {value}\n")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${env.${train.seed}}", "a reference within a reference is not read"),
        ("${.fields}", "a reference gives the whole key"),
        ("${" * 10**5, "a reference within a reference is not read"),
        ("\\" * 10**5 + "${a:b}", "only ${section.key} is read here"),
    ],
)
def test_only_whole_keys_are_read(tmp_path: Path, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(message)):
        load(tmp_path, MODELS + f"env:\n  note: '{value}'\n")


def test_a_reference_may_lead_to_another_one_and_into_a_list(tmp_path: Path) -> None:
    env = "env: {a: x, b: '${env.a}${env.a}', c: ['${env.b}', y], d: '${env.c[0]}-${env.c[1]}'}\n"
    assert (load(tmp_path, MODELS + env).config.env.model_extra or {})["d"] == "xx-y"


@pytest.mark.parametrize(
    "doubled",
    [
        "${{env.a{n}}}${{env.a{n}}}",
        "['${{env.a{n}}}', '${{env.a{n}}}']",
        "{{x: '${{env.a{n}}}', y: '${{env.a{n}}}'}}",
    ],
)
def test_values_that_double_one_another_are_refused(tmp_path: Path, doubled: str) -> None:
    """A hundred lines would make a text that no machine holds."""
    lines = "".join(f"  a{n + 1}: {doubled.format(n=n)}\n" for n in range(100))
    with pytest.raises(ConfigError, match="refer to one another more than 500 times"):
        load(tmp_path, MODELS + "env:\n  a0: xxxxxxxxxx\n" + lines)


def test_a_long_text_is_not_repeated_without_end(tmp_path: Path) -> None:
    env = "env:\n  a: " + "x" * 10**5 + "\n  b: " + "${env.a}" * 60 + "\n"
    with pytest.raises(ConfigError, match="or to texts too long for it"):
        load(tmp_path, MODELS + env)


def test_a_long_text_costs_one_pass(tmp_path: Path) -> None:
    """Looking for secrets in it took minutes."""
    assert load(tmp_path, MODELS + "env: {note: " + "a" * 10**5 + "}\n").config.env.model_extra
