"""The settings every environment has, and those of its own."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from skillopt.config.env_settings import EnvSettings


@pytest.mark.parametrize("ratio", ["", "1:1", "1:1:1:1", "0:1:1", "a:b:c", "1.5:1:1", "-1:1:1", "1:1:1\n", "01:1:1"])
def test_a_ratio_is_three_whole_numbers_above_zero(ratio: str) -> None:
    with pytest.raises(ValidationError, match="three whole numbers"):
        EnvSettings(split_ratio=ratio)


def test_keys_of_the_environment_are_kept_for_it() -> None:
    assert EnvSettings.model_validate({"scorer": "f1"}).model_extra == {"scorer": "f1"}
