from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.learning_rate import MOST_TIMES, Scheduler, bounded_budget, edit_budget

DECAYS: tuple[Scheduler, ...] = ("linear", "cosine")
VECTORS = [
    ("cosine", 4, 2, "4 3 2 2"),
    ("cosine", 4, 2, "4 4 3 3 3 2 2 2"),
    ("cosine", 4, 2, "4 4 4 4 3 3 3 2 2 2 2 2"),
    ("cosine", 8, 2, "8 7 7 6 5 4 3 3 2 2"),
    ("cosine", 16, 4, "16 15 14 12 10 8 6 5 4 4"),
    ("cosine", 4, 2, "4"),
    ("cosine", 4, 0, "3 2 1 0"),
    ("cosine", 4, 2, " ".join(["4"] * 13 + ["3"] * 13 + ["2"] * 14)),
    ("linear", 4, 2, "4 3 2 2"),
    ("linear", 4, 2, "4 4 3 3 3 2 2 2"),
    ("linear", 4, 2, "4 4 4 3 3 3 3 3 2 2 2 2"),
    ("linear", 8, 2, "7 7 6 6 5 4 4 3 3 2"),
    ("linear", 16, 4, "15 14 12 11 10 9 8 6 5 4"),
    ("constant", 4, 2, "4 4 4 4"),
    ("autonomous", 4, 2, "4 4 4 4"),
]


def schedule(scheduler: Scheduler, maximum: int, minimum: int, total: int) -> list[int]:
    return [
        edit_budget(scheduler, step, total_steps=total, maximum=maximum, minimum=minimum)
        for step in range(1, total + 1)
    ]


@pytest.mark.parametrize(("scheduler", "maximum", "minimum", "budgets"), VECTORS)
def test_every_step_has_its_documented_budget(scheduler: Scheduler, maximum: int, minimum: int, budgets: str) -> None:
    """F68, More 7: also the first step of a decay, which may be below the maximum."""
    expected = [int(budget) for budget in budgets.split()]
    assert schedule(scheduler, maximum, minimum, len(expected)) == expected


@pytest.mark.parametrize("scheduler", DECAYS)
def test_steps_beyond_the_last_keep_its_budget(scheduler: Scheduler) -> None:
    assert edit_budget(scheduler, 99, total_steps=8, maximum=8, minimum=2) == 2


@pytest.mark.parametrize("scheduler", ["constant", *DECAYS])
@pytest.mark.parametrize("total", [0, 1])
def test_a_run_of_one_step_gets_the_maximum(scheduler: Scheduler, total: int) -> None:
    """More 7."""
    assert edit_budget(scheduler, 1, total_steps=total, maximum=4, minimum=2) == 4


@pytest.mark.parametrize("scheduler", DECAYS)
def test_a_decay_that_would_rise_is_refused_with_both_numbers(scheduler: Scheduler) -> None:
    """F68: min 4, max 2."""
    with pytest.raises(ValueError, match=r"minimum .* is 4, above its maximum 2"):
        edit_budget(scheduler, 1, total_steps=8, maximum=2, minimum=4)


def test_a_constant_schedule_does_not_look_at_the_minimum() -> None:
    assert edit_budget("constant", 3, total_steps=8, maximum=1, minimum=2) == 1


@pytest.mark.parametrize(
    ("scheduler", "step", "maximum", "minimum", "message"),
    [
        ("cosin", 1, 4, 2, "'cosin' is unknown; it must be one of constant, linear, cosine"),
        ("cosine", 0, 4, 2, "step is 0"),
        ("cosine", 1, -1, -2, "from -1 to -2"),
    ],
)
def test_a_wrong_argument_is_an_error_and_never_a_default(
    scheduler: Scheduler, step: int, maximum: int, minimum: int, message: str
) -> None:
    """More 8."""
    with pytest.raises(ValueError, match=message):
        edit_budget(scheduler, step, total_steps=8, maximum=maximum, minimum=minimum)


def test_a_learning_rate_of_zero_is_zero_at_every_step() -> None:
    """More 9."""
    assert {budget for scheduler in ("constant", *DECAYS) for budget in schedule(scheduler, 0, 0, 9)} == {0}


@given(st.sampled_from(["constant", *DECAYS]), st.integers(0, 40), st.integers(0, 40), st.integers(1, 120))
def test_budgets_stay_within_bounds_and_never_rise(scheduler: Scheduler, bound: int, other: int, total: int) -> None:
    minimum, maximum = sorted((bound, other))
    budgets = schedule(scheduler, maximum, minimum, total)
    assert all(minimum <= budget <= maximum for budget in budgets)
    assert budgets == sorted(budgets, reverse=True)
    assert budgets[-1] == (minimum if scheduler != "constant" and total > 1 else maximum)


@given(st.sampled_from(DECAYS), st.integers(1, 20), st.integers(1, 20), st.integers(1, 60))
def test_zero_comes_only_where_it_was_asked_for(scheduler: Scheduler, bound: int, other: int, total: int) -> None:
    """F68."""
    assert 0 not in schedule(scheduler, max(bound, other), min(bound, other), total)


@given(st.integers(-5, 10**12), st.integers(0, 60), st.integers(0, 12))
def test_a_named_budget_is_bounded_by_the_edits_there_are_and_by_the_rate(proposed: int, there: int, rate: int) -> None:
    budget = bounded_budget(proposed, available=there, learning_rate=rate)
    assert 0 <= budget <= min(there, MOST_TIMES * rate)
    assert budget == proposed or proposed < 0 or budget in (there, MOST_TIMES * rate)
