"""What can be asked of a gate."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from skillopt.config.evaluation_settings import EvaluationSettings


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
