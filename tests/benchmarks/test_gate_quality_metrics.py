"""The numbers of `benchmarks/gate_quality`, from trainings that can be reckoned by hand."""

from __future__ import annotations

import math

import pytest
from benchmarks.gate_quality.metrics import (
    Held,
    Judged,
    Training,
    difference,
    gain_within,
    mean_of,
    measures,
    rate,
)

TOY = Training(
    seed_score=10.0,
    held=(Held(40, 10.0), Held(80, 30.0), Held(120, 25.0), Held(200, 60.0)),
    judged=(
        Judged(0.0, accepted=True),
        Judged(20.0, accepted=True),
        Judged(-5.0, accepted=True),
        Judged(35.0, accepted=True),
        Judged(0.0, accepted=False),
        Judged(5.0, accepted=False),
    ),
    reported=55.0,
    target_calls=200,
    optimizer_calls=30,
    harmful=2,
)


@pytest.mark.parametrize(("calls", "gain"), [(0, 0.0), (79, 0.0), (80, 20.0), (119.5, 20.0), (120, 15.0), (999, 50.0)])
def test_the_gain_within_a_limit_is_that_of_the_skill_held_when_it_was_reached(calls: float, gain: float) -> None:
    assert gain_within(TOY, calls) == gain


def test_a_training_that_never_came_to_a_commit_gained_nothing() -> None:
    assert gain_within(Training(10.0, (), (), 0.0, 0, 0, 0), 100) == 0.0


def test_the_measures_of_a_training_are_those_of_its_history() -> None:
    assert measures(TOY, 320) == {
        "gain 25%": 20.0,
        "gain 50%": 15.0,
        "gain 100%": 50.0,
        "gain": 50.0,
        "reported": 55.0,
        "overstated": 5.0,
        "target calls": 200,
        "optimizer calls": 30,
        "harmful kept": 2,
        "useful accepted": 2,
        "useful judged": 3,
        "useless accepted": 1,
        "useless judged": 2,
        "harmful accepted": 1,
        "harmful judged": 1,
    }


def test_a_training_that_uses_more_than_the_limit_is_cut_off_there() -> None:
    assert measures(TOY, 160)["gain 100%"] == 15.0
    assert measures(TOY, 160)["gain"] == 50.0


def test_a_mean_comes_with_its_standard_error() -> None:
    mean = mean_of([1.0, 2.0, 3.0, 6.0])
    assert mean.value == 3.0
    assert mean.error == pytest.approx(math.sqrt(14 / 3) / 2)
    assert math.isnan(mean_of([1.0]).error)


def test_differences_are_paired_by_seed() -> None:
    own, base = ([{"gain": value} for value in values] for values in ((11.0, 52.0, 93.0), (10.0, 50.0, 90.0)))
    found = difference(own, base, "gain")
    assert found.value == 2.0
    assert found.error == pytest.approx(1 / math.sqrt(3))


def test_a_rate_is_taken_over_all_candidates_of_all_seeds() -> None:
    rows = [{"useless accepted": 1, "useless judged": 2}, {"useless accepted": 0, "useless judged": 6}]
    assert rate(rows, "useless") == 1 / 8
    assert rate([{"harmful accepted": 0, "harmful judged": 0}], "harmful") is None
