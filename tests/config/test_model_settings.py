"""How a model may be called."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from skillopt.config.model_settings import ModelSettings, PriceSettings, RoleSettings


def test_both_roles_are_needed() -> None:
    with pytest.raises(ValidationError, match="target"):
        ModelSettings.model_validate({"optimizer": {"name": "a:b"}})


@pytest.mark.parametrize("values", [{"temperature": 2.1}, {"max_tokens": 0}, {"timeout": 0.0}, {"concurrency": 0}])
def test_a_value_out_of_its_range_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        RoleSettings.model_validate({"name": "a:b", **values})


def test_a_price_is_not_below_zero() -> None:
    with pytest.raises(ValidationError):
        PriceSettings(input=-1.0, output=1.0)
    assert PriceSettings(input=0.0, output=1.0).cached_input is None
