"""Schedules and budgets that make sense."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from skillopt.config.training_settings import OptimizerSettings


def test_a_schedule_cannot_rise() -> None:
    """F68: min > max is refused."""
    with pytest.raises(ValidationError, match="above learning_rate"):
        OptimizerSettings(learning_rate=2, min_learning_rate=4)
    assert OptimizerSettings(learning_rate=1, lr_scheduler="constant").learning_rate == 1


@pytest.mark.parametrize(("learning_rate", "lowest"), [(8, 2), (4, 2), (2, 2), (1, 1), (0, 0)])
def test_the_lowest_edit_budget_is_two_unless_the_highest_is_lower(learning_rate: int, lowest: int) -> None:
    assert OptimizerSettings(learning_rate=learning_rate).lowest_learning_rate == lowest
