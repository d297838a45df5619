"""What more epochs change in the schedule, and in nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config.training_settings import OptimizerSettings
from skillopt.run.schedule import MoreEpochs, scheduled_budget


def optimizer(**settings: Any) -> OptimizerSettings:
    return OptimizerSettings(**{"learning_rate": 4, "min_learning_rate": 2, **settings})


def test_a_budget_is_that_of_the_schedule_and_whole_where_nothing_is_clipped() -> None:
    def budgets(**settings: Any) -> list[int]:
        return [scheduled_budget(optimizer(**settings), step=step, total_steps=4) for step in range(1, 5)]

    assert budgets(lr_scheduler="cosine") == [4, 3, 2, 2]
    assert budgets(lr_scheduler="constant") == budgets(lr_scheduler="autonomous") == [4, 4, 4, 4]
    assert budgets(lr_scheduler="cosine", lr_control_mode="none") == [4, 4, 4, 4]


@pytest.mark.parametrize(
    "settings",
    [
        {"lr_scheduler": "constant"},
        {"lr_scheduler": "autonomous"},
        {"lr_scheduler": "linear", "lr_control_mode": "none"},
    ],
    ids=lambda settings: "-".join(settings.values()),
)
def test_without_a_decay_nothing_changes(settings: dict[str, Any]) -> None:
    change, one = MoreEpochs(2, 4), optimizer(**settings)
    assert change.changed_budgets(one, steps_per_epoch=4) == {}
    assert change.effect(one, steps_per_epoch=4) == (
        "train.num_epochs is raised from 2 to 4: 16 steps in place of 8; the edit budget of every step stays as it "
        "was, so what was played stands"
    )


def test_a_decay_says_which_steps_change_from_what_to_what() -> None:
    """Over 4 steps cosine gives 4 3 2 2, over 8 steps 4 4 3 3 3 2 2 2."""
    change, one = MoreEpochs(1, 2), optimizer(lr_scheduler="cosine")
    assert change.changed_budgets(one, steps_per_epoch=4) == {2: (3, 4), 3: (2, 3), 4: (2, 3)}
    assert change.effect(one, steps_per_epoch=4) == (
        "train.num_epochs is raised from 1 to 2: 8 steps in place of 4; optimizer.lr_scheduler cosine falls over all "
        "of them, so that the edit budget changes (step 2: 3 -> 4; steps 3 to 4: 2 -> 3): from step 2 on the steps "
        "are played anew and are asked again as far as what is asked changes, and what they had before stays in the "
        "evidence"
    )


def test_a_long_list_is_cut() -> None:
    one = optimizer(lr_scheduler="linear", learning_rate=60, min_learning_rate=1)
    said = MoreEpochs(2, 3).effect(one, steps_per_epoch=30)
    assert "; ...)" in said
    assert len(said) < 600


@given(
    st.sampled_from(["linear", "cosine"]), st.integers(1, 6), st.integers(1, 6), st.integers(1, 5), st.integers(2, 9)
)
def test_the_first_change_is_where_the_two_schedules_part(
    scheduler: Any, before: int, more: int, steps: int, rate: int
) -> None:
    one = optimizer(lr_scheduler=scheduler, learning_rate=rate)
    change = MoreEpochs(before, before + more)
    changed = change.changed_budgets(one, steps_per_epoch=steps)
    for step in range(1, before * steps + 1):
        old = scheduled_budget(one, step=step, total_steps=before * steps)
        new = scheduled_budget(one, step=step, total_steps=change.now * steps)
        assert changed.get(step, (old, old)) == (old, new)
