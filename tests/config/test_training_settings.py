"""Schedules and budgets that make sense."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from skillopt.config.training_settings import OptimizerSettings, TrainSettings


def test_a_schedule_cannot_rise() -> None:
    """F68: min > max is refused."""
    with pytest.raises(ValidationError, match="above learning_rate"):
        OptimizerSettings(learning_rate=2, min_learning_rate=4, lr_scheduler="linear")
    assert OptimizerSettings(learning_rate=1, lr_scheduler="constant").learning_rate == 1


@pytest.mark.parametrize(
    ("scheduler", "control", "who"),
    [
        ("cosine", "fixed", "fixed"),
        ("cosine", "autonomous", "autonomous"),
        ("autonomous", "fixed", "autonomous"),
        ("autonomous", "autonomous", "autonomous"),
        ("linear", "none", "none"),
    ],
)
def test_a_schedule_left_to_the_optimizer_is_the_autonomous_mode(scheduler: Any, control: Any, who: str) -> None:
    assert OptimizerSettings(lr_scheduler=scheduler, lr_control_mode=control).budget_control == who


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"lr_scheduler": "autonomous", "lr_control_mode": "none"}, "leave one of them out"),
        (
            {"skill_update_mode": "full_rewrite_minibatch", "lr_control_mode": "autonomous"},
            "there is no budget for the optimizer to name",
        ),
        ({"skill_update_mode": "full_rewrite_minibatch", "lr_scheduler": "autonomous"}, "or use rewrite_from_sugg"),
    ],
)
def test_modes_that_contradict_each_other_are_one_error(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message) as error:
        OptimizerSettings(**settings)
    assert error.value.error_count() == 1


def test_a_minimum_counts_only_where_a_schedule_decays() -> None:
    for settings in ({"lr_scheduler": "autonomous"}, {"lr_control_mode": "none"}):
        assert OptimizerSettings(learning_rate=1, min_learning_rate=4, **settings).learning_rate == 1  # type: ignore[arg-type]


def test_a_step_reads_as_many_tasks_as_its_batches_hold() -> None:
    assert (TrainSettings().tasks_per_step, TrainSettings(batch_size=8, accumulation=3).tasks_per_step) == (40, 24)


@pytest.mark.parametrize(("learning_rate", "lowest"), [(8, 2), (4, 2), (2, 2), (1, 1), (0, 0)])
def test_the_lowest_edit_budget_is_two_unless_the_highest_is_lower(learning_rate: int, lowest: int) -> None:
    assert OptimizerSettings(learning_rate=learning_rate).lowest_learning_rate == lowest


def test_a_redraw_needs_a_memory_of_what_was_lost() -> None:
    with pytest.raises(ValidationError, match="leave one of them out"):
        OptimizerSettings(redraw=1, rejection_memory="off")
    assert OptimizerSettings(redraw=1, rejection_memory="epoch").redraw == 1
