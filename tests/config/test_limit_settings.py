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
