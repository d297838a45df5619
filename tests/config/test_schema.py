"""The schema holds to its own rules."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from skillopt.config.schema import Config, EnvSettings, EvaluationSettings, OptimizerSettings

MODELS = {"optimizer": {"name": "a:b"}, "target": {"name": "a:b"}}


def test_every_key_but_the_models_has_a_default() -> None:
    assert Config.model_validate({"model": MODELS}).train.seed == 42


def test_a_configuration_cannot_be_changed() -> None:
    config = Config.model_validate({"model": MODELS})
    with pytest.raises(ValidationError, match="frozen"):
        config.train.seed = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_a_schedule_cannot_rise() -> None:
    """F68: min > max is refused."""
    with pytest.raises(ValidationError, match="above learning_rate"):
        OptimizerSettings(learning_rate=2, min_learning_rate=4)
    assert OptimizerSettings(learning_rate=1, lr_scheduler="constant").learning_rate == 1


@pytest.mark.parametrize("ratio", ["", "1:1", "1:1:1:1", "0:1:1", "a:b:c", "1.5:1:1", "-1:1:1", "1:1:1\n", "01:1:1"])
def test_a_ratio_is_three_whole_numbers_above_zero(ratio: str) -> None:
    with pytest.raises(ValidationError, match="three whole numbers"):
        EnvSettings(split_ratio=ratio)


def test_keys_of_the_environment_are_kept_for_it() -> None:
    assert EnvSettings.model_validate({"scorer": "f1"}).model_extra == {"scorer": "f1"}


@pytest.mark.parametrize(("learning_rate", "lowest"), [(8, 2), (4, 2), (2, 2), (1, 1), (0, 0)])
def test_the_lowest_edit_budget_is_two_unless_the_highest_is_lower(learning_rate: int, lowest: int) -> None:
    assert OptimizerSettings(learning_rate=learning_rate).lowest_learning_rate == lowest


@pytest.mark.parametrize("name", ["confidence", "max_regressions", "acceptance"])
def test_what_a_gate_asks_for_needs_a_gate(name: str) -> None:
    """F76, F80: a setting that would change nothing is an error."""
    values = {name: {"confidence": 0.9, "max_regressions": 1, "acceptance": "a:b"}[name]}
    with pytest.raises(ValidationError, match=f"leave out {name}, or use the gate"):
        EvaluationSettings.model_validate({"use_gate": False, **values})
    if name != "acceptance":
        with pytest.raises(ValidationError, match="acceptance decides alone"):
            EvaluationSettings.model_validate({"acceptance": "a:b", **values})
    assert EvaluationSettings.model_validate(values)


@pytest.mark.parametrize("name", ["", "rule", "rule.py", "rule.py:", ":rule", "rule.py:a-b", "rule.py:1"])
def test_an_acceptance_rule_is_a_function_by_name(name: str) -> None:
    with pytest.raises(ValidationError, match=r"module:function or file\.py:function"):
        EvaluationSettings(acceptance=name)
