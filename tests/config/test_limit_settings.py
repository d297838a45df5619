"""What may be set as a limit."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from skillopt.config.limit_settings import LimitSettings


@pytest.mark.parametrize("values", [{"calls": 0}, {"tokens": -1}, {"dollars": 0.0}, {"minutes": 0.0}, {"calls": 1.5}])
@pytest.mark.parametrize("role", ["", "target", "optimizer"])
def test_a_limit_is_above_zero(values: dict[str, Any], role: str) -> None:
    with pytest.raises(ValidationError):
        LimitSettings.model_validate({role: values} if role else values)


def test_there_is_no_limit_unless_one_is_set() -> None:
    limits = LimitSettings()
    for amounts in (limits, limits.target, limits.optimizer):
        assert (amounts.calls, amounts.tokens, amounts.dollars, amounts.minutes) == (None, None, None, None)


def test_the_limits_that_are_set_are_named_by_their_keys() -> None:
    assert LimitSettings().by_key() == {}
    limits = LimitSettings.model_validate({"dollars": 5, "target": {"calls": 9}, "optimizer": {"minutes": 0.5}})
    assert limits.by_key() == {"limits.dollars": 5.0, "limits.target.calls": 9.0, "limits.optimizer.minutes": 0.5}
