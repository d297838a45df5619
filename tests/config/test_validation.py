"""What a wrong setting is told: key, value, place, what is allowed, what was meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import pytest

from skillopt.config.provenance import COMMAND_LINE, Provenance
from skillopt.config.schema import Config
from skillopt.config.validation import nearest, nearest_key, validate_section, validated_config
from skillopt.environments.base import EnvironmentSettings
from skillopt.errors import ConfigError
from skillopt.types import JsonValue

MODELS: dict[str, JsonValue] = {"optimizer": {"name": "a:b"}, "target": {"name": "a:b"}}


def refusal(values: Mapping[str, JsonValue]) -> str:
    origins = {(section,): COMMAND_LINE for section in values}
    with pytest.raises(ConfigError) as caught:
        validated_config({"model": MODELS, **values}, Provenance(origins))
    return str(caught.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"train": {"batch_size": "8"}}, 'is "8"; it must be: whole number, at least 1; write 8 without quotes'),
        ({"train": {"batch_size": 1.5}}, "train.batch_size is 1.5; it must be: whole number, at least 1"),
        ({"train": {"batch_size": True}}, "train.batch_size is true; it must be: whole number"),
        ({"train": {"batch_size": None}}, "is null; it must be: whole number, at least 1; leave the key out"),
        ({"train": {"seed": [1]}}, "train.seed is [1]; it must be: whole number"),
        ({"gradient": {"merge_batch_size": 1}}, "gradient.merge_batch_size is 1; it must be: whole number, at least 2"),
        ({"evaluation": {"use_gate": "yes"}}, 'it must be: true or false; write true without quotes'),
        ({"evaluation": {"gate_metric": "sofd"}}, "one of hard, soft, mixed; did you mean soft?"),
        ({"evaluation": {"gate_mixed_weight": 2}}, "it must be: number, at least 0, at most 1"),
        ({"env": {"split_mode": "split-dir"}}, "one of ratio, split_dir or null; did you mean split_dir?"),
        ({"env": {"name": 5}}, "env.name is 5; it must be: text; write the text in quotes"),
        ({"env": {"fields": {"q": 1}}}, "env.fields.q is 1; it must be: text; write the text in quotes"),
        ({"env": {"split_ratio": "2:1"}}, 'env.split_ratio is "2:1"; it must be three whole numbers above 0'),
        ({"env": {"split_ratio": "2:0:1"}}, "three whole numbers above 0"),
        ({"train": 3}, "train is 3; it must be: mapping"),
        ({"modle": {"sandbox": "x"}}, "unknown key modle; did you mean model?"),
        ({"train": {"learning_rate": 3}}, "unknown key train.learning_rate; did you mean optimizer.learning_rate?"),
        ({"train": {"bath_size": 3}}, "unknown key train.bath_size; did you mean train.batch_size?"),
        ({"train.batch_size": 3}, "train.batch_size is no key; in a file sections are nested"),
        ({"batch_size": 3}, "unknown key batch_size; did you mean train.batch_size?"),
        ({"train": {"qqqqqqqqqq": 3}}, "unknown key train.qqqqqqqqqq"),
        ({"optimizer": {"lr_control_mode": "manual"}}, "one of fixed, autonomous, none; write fixed"),
        ({"optimizer": {"lr_control_mode": False}}, "one of fixed, autonomous, none; write none"),
        ({"optimizer": {"skill_update_mode": "rewrite"}}, "; write rewrite_from_suggestions"),
        ({"optimizer": {"skill_update_mode": "patsh"}}, "; did you mean patch?"),
        ({"train": {"meta_edit_budget": 1}}, "train.meta_edit_budget is not a key here"),
        (
            {"optimizer": {"learning_rate": 1, "min_learning_rate": 2, "lr_scheduler": "linear"}},
            "optimizer: min_learning_rate is 2, above learning_rate 1",
        ),
    ],
)  # fmt: skip
def test_a_wrong_setting_is_told_what_is_right(values: dict[str, JsonValue], message: str) -> None:
    """F7, More 2, More 8: a misspelt key, mode or metric is an error that names the nearest, never a default."""
    told = refusal(values)
    assert message in told
    assert told.startswith("command line: ")


def test_a_wrong_field_of_a_model_is_told_by_its_whole_key() -> None:
    models: JsonValue = {**MODELS, "target": {"name": "a:b", "temprature": 1, "timeout": 0, "price": {"input": 1}}}
    told = refusal({"model": models})
    assert "unknown key model.target.temprature; did you mean model.target.temperature?" in told
    assert "model.target.timeout is 0; it must be: number, above 0" in told
    assert "model.target.price.output is not set and has no default" in told


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({"optimizer": {}, "target": {}}, "model.optimizer and model.target are not set"),
        ({"optimizer": {"name": "a:b"}, "target": {}}, "model.target is not set"),
    ],
)
def test_a_missing_model_is_asked_for_with_an_example(models: JsonValue, message: str) -> None:
    told = refusal({"model": models})
    assert message in told
    assert "optimizer: openai:gpt-5.5" in told


def test_numbers_that_are_not_finite_are_refused_in_code_too() -> None:
    with pytest.raises(ValueError, match="finite"):
        Config.model_validate({"model": {**MODELS, "target": {"name": "a:b", "timeout": float("inf")}}})


def test_an_environment_is_given_its_settings() -> None:
    class Settings(EnvironmentSettings):
        answer: str = "tag"

    assert validate_section(Settings, {"answer": "line"}, provenance=Provenance({})).answer == "line"
    with pytest.raises(ConfigError, match=r"env.split is not a key here: .*command line"):
        validate_section(Settings, {"split": "val"}, provenance=Provenance({}))


def test_an_environment_is_given_the_words_that_yaml_reads_as_truth_values() -> None:
    class Settings(EnvironmentSettings):
        hints: Literal["yes", "no"] = "yes"

    for written, meant in ((False, "no"), (True, "yes"), ("no", "no")):
        assert validate_section(Settings, {"hints": written}, provenance=Provenance({})).hints == meant


def test_the_nearest_word_is_named_only_if_it_is_near() -> None:
    assert (nearest("vall", ["val", "test"]), nearest("zzz", ["val", "test"])) == ("val", "")
    assert nearest_key(("env", "limt"), [("env", "limit"), ("train", "seed")]) == "env.limit"
    assert nearest_key(("train", "workers"), [("train", "worker"), ("env", "workers")]) == "env.workers"
