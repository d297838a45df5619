"""What one step can take at most."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt.config.schema import Config
from skillopt.run.plan_steps import (
    may_consolidate,
    may_rank,
    merge_calls,
    minibatches_of,
    most_growth,
    most_rollouts,
    most_vetting,
)


def config(**sections: Any) -> Config:
    models = {"optimizer": {"name": "a:b"}, "target": {"name": "a:b"}}
    return Config.model_validate({"model": models, **sections})


@pytest.mark.parametrize(
    ("tasks", "failure_only", "minibatches"), [(12, False, 2 + 1), (24, False, 6), (30, False, 8), (30, True, 5)]
)
def test_minibatches_of_two_batches_are_never_mixed(tasks: int, failure_only: bool, minibatches: int) -> None:
    found = config(
        train={"batch_size": 12, "accumulation": 3}, gradient={"minibatch_size": 6, "failure_only": failure_only}
    )
    assert minibatches_of(found, tasks) == minibatches


@pytest.mark.parametrize(
    ("optimizer", "one", "several"),
    [
        ({}, False, True),
        ({"lr_control_mode": "autonomous"}, True, True),
        ({"lr_control_mode": "none"}, False, False),
        ({"skill_update_mode": "full_rewrite_minibatch"}, False, False),
    ],
)
def test_a_ranking_is_planned_where_a_budget_can_be_exceeded(
    optimizer: dict[str, Any], one: bool, several: bool
) -> None:
    assert (may_rank(config(optimizer=optimizer), 1), may_rank(config(optimizer=optimizer), 2)) == (one, several)


def test_merges_are_counted_on_both_sides_and_all_levels() -> None:
    assert [merge_calls(patches, 2) for patches in (0, 1, 2, 5)] == [0, 0, 1, 4]


@pytest.mark.parametrize(
    ("optimizer", "growth"),
    [
        ({}, 8 * 60),
        ({"lr_control_mode": "autonomous"}, 32 * 60),
        ({"lr_control_mode": "none"}, 8000),
        ({"skill_update_mode": "rewrite_from_suggestions"}, 8000),
    ],
)
def test_what_nothing_clips_is_held_by_the_skills_own_limit(optimizer: dict[str, Any], growth: int) -> None:
    assert most_growth(config(optimizer=optimizer), 5) == growth


def test_reminders_make_the_skill_grow_too_one_for_each_task() -> None:
    optimizer = {"use_skill_aware_reflection": True}
    assert most_growth(config(optimizer=optimizer), 5) == 8 * 60 + 5 * 20
    assert may_consolidate(config(optimizer=optimizer)) is False
    assert may_consolidate(config(optimizer={**optimizer, "skill_aware_consolidate_threshold": 3})) is True


def test_rollouts_and_vetting_are_bounded_by_what_a_step_reads() -> None:
    assert most_rollouts(config(train={"batch_size": 4, "sampling": "all"}), tasks=10, steps=12) == (10, 40)
    unsolved = config(train={"batch_size": 4, "sampling": "unsolved"}, evaluation={"vet": 3})
    assert most_rollouts(unsolved, tasks=10, steps=12) == (4, 48)
    assert most_vetting(unsolved, tasks=10, draws=2) == 2 * 8 * 3
    assert most_vetting(unsolved, tasks=2, draws=2) == 2 * 8 * 2


@pytest.mark.parametrize(("control", "minibatches", "times"), [("fixed", 5, 1), ("none", 5, 6), ("autonomous", 5, 4),
                                                               ("none", 2, 3), ("autonomous", 2, 3)])  # fmt: skip
def test_without_a_budget_as_many_edits_are_vetted_as_are_proposed(control: str, minibatches: int, times: int) -> None:
    """One minibatch more than are full, since failures and successes are never mixed."""
    changed = config(
        train={"batch_size": minibatches},
        gradient={"minibatch_size": 1},
        optimizer={"lr_control_mode": control, "learning_rate": 3},
        evaluation={"vet": 1},
    )
    assert most_vetting(changed, tasks=10, draws=2) == 2 * 3 * times
