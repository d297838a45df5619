"""The noise of a selection split, and what it makes of an edit that changes nothing."""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import product
from statistics import mean, stdev

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.evaluation.noise import RARE, Noise, accepted_with_confidence, forecast, noise_of
from skillopt.evaluation.statistics import sign_test

SCORES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=1, max_size=30)


def flipping(tasks: int, flips: int) -> Noise:
    """Two passes over so many tasks of which some flip."""
    return noise_of([(Fraction(number < flips), Fraction(0)) for number in range(tasks)])


def simulated_gains(noise: Noise, *, tasks: int, repeats: int, trials: int) -> list[list[Fraction]]:
    """Each trial: by how much each task seems to gain from an edit that changes nothing, over so many passes."""
    draw = random.Random(1)
    sizes, chances = zip(*noise.differences, strict=True)
    weights = [float(chance) for chance in chances]

    def task() -> Fraction:
        drawn = draw.choices(sizes, weights, k=repeats)
        return sum((size * draw.choice((-1, 1)) for size in drawn), Fraction()) / repeats

    return [[task() for _ in range(tasks)] for _ in range(trials)]


def test_two_passes_that_agree_have_no_noise() -> None:
    noise = flipping(8, 0)
    assert (noise.changed, noise.flip_rate, noise.spread) == (0, 0.0, 0.0)
    told = forecast(noise, tasks=8, repeats=1)
    assert (told.accepted, told.seeming_gain, told.smallest_gain) == (0.0, 0.0, 1 / 8)


def test_the_noise_floor_is_the_share_that_flips_and_the_spread_of_a_pass() -> None:
    noise = noise_of([(Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))] + [(Fraction(1), Fraction(1))] * 6)
    assert noise.means == (Fraction(7, 8), Fraction(7, 8))
    assert (noise.changed, noise.flip_rate) == (2, 0.25)
    assert noise.spread == pytest.approx((2 * 0.5) ** 0.5 / 8)


def test_partial_credit_that_wavers_is_noise_too() -> None:
    """F39: a judge that wobbles by 0.05 on every task."""
    noise = noise_of([(Fraction("0.5"), Fraction("0.55"))] * 10)
    assert (noise.flip_rate, noise.differences) == (1.0, ((Fraction(1, 20), Fraction(1)),))
    told = forecast(noise, tasks=10, repeats=1)
    assert told.step == pytest.approx(1 / 200)
    assert 0.3 < told.accepted < 0.5
    assert told.smallest_gain < 0.05


@given(st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=1, max_size=12))
def test_over_several_passes_all_pairs_count(rows: list[list[int]]) -> None:
    noise = noise_of([[Fraction(score) for score in row] for row in rows])
    pairs = [abs(row[a] - row[b]) for row in rows for a, b in ((0, 1), (0, 2), (1, 2))]
    assert noise.flip_rate == pytest.approx(mean(pairs))
    assert noise.tasks == len(rows) and len(noise.means) == 3


@pytest.mark.parametrize("scores", [[], [[Fraction(1)]], [[Fraction(1)] * 2, [Fraction(1)] * 3]])
def test_what_is_no_repetition_is_refused(scores: list[list[Fraction]]) -> None:
    with pytest.raises(ValueError, match="every task needs the same number, at least two"):
        noise_of(scores)


@settings(max_examples=30)
@given(st.integers(1, 6).flatmap(lambda tasks: st.tuples(st.just(tasks), st.integers(1, tasks))))
def test_the_chance_is_that_of_all_outcomes_counted_one_by_one(drawn: tuple[int, int]) -> None:
    """Every task stays, rises or falls: enumerated with its probability."""
    tasks, flips = drawn
    rate = flips / tasks
    chance = {-1: rate / 2, 0: 1 - rate, 1: rate / 2}
    accepted = seeming = 0.0
    for outcome in product((-1, 0, 1), repeat=tasks):
        weight = 1.0
        for change in outcome:
            weight *= chance[change]
        if sum(outcome) > 0:
            accepted += weight
            seeming += weight * sum(outcome) / tasks
    told = forecast(flipping(tasks, flips), tasks=tasks, repeats=1)
    assert told.accepted == pytest.approx(accepted)
    assert told.seeming_gain == pytest.approx(seeming / accepted)


@pytest.mark.parametrize(("tasks", "flips", "repeats"), [(17, 3, 1), (40, 10, 1), (40, 4, 3), (12, 12, 2)])
def test_the_forecast_is_that_of_a_simulation(tasks: int, flips: int, repeats: int) -> None:
    """F19: how often an edit that changes nothing is accepted, and what it seems to gain."""
    noise, trials = flipping(tasks, flips), 3000
    gains = [sum(one) / tasks for one in simulated_gains(noise, tasks=tasks, repeats=repeats, trials=trials)]
    told = forecast(noise, tasks=tasks, repeats=repeats)
    higher = [float(gain) for gain in gains if gain > 0]
    assert len(higher) / trials == pytest.approx(told.accepted, abs=4 * 0.5 / trials**0.5)
    assert mean(higher) == pytest.approx(told.seeming_gain, abs=4 * stdev(higher) / len(higher) ** 0.5)
    reached = sum(gain >= Fraction(told.smallest_gain).limit_denominator(10**6) for gain in gains) / trials
    assert reached <= RARE + 4 * (RARE / trials) ** 0.5


@pytest.mark.parametrize("flips", [1, 4, 20])
def test_the_normal_approximation_meets_the_exact_distribution(flips: int, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = flipping(40, flips)
    exact = forecast(noise, tasks=200, repeats=4)
    monkeypatch.setattr("skillopt.evaluation.noise._LARGEST_GRID", 0)
    near = forecast(noise, tasks=200, repeats=4)
    assert near.accepted == pytest.approx(exact.accepted, abs=0.02)
    assert near.seeming_gain == pytest.approx(exact.seeming_gain, rel=0.1)
    assert near.smallest_gain == pytest.approx(exact.smallest_gain, rel=0.15)


@settings(max_examples=30)
@given(st.integers(1, 20), st.integers(1, 20), st.integers(1, 4))
def test_more_tasks_or_passes_show_smaller_gains_and_accept_no_less(tasks: int, flips: int, times: int) -> None:
    """F17, F18: repeats make a false gain small; they do not make the strict rule refuse it."""
    noise = flipping(20, flips)
    once = forecast(noise, tasks=tasks, repeats=1)
    more = forecast(noise, tasks=tasks, repeats=times)
    assert more.smallest_gain <= once.smallest_gain + 1e-9
    assert more.step == pytest.approx(once.step / times)
    assert more.rollouts == times * once.rollouts
    assert once.accepted <= 0.5 and more.accepted <= 0.5
    as_tasks = forecast(noise, tasks=tasks * times, repeats=1)
    assert (as_tasks.accepted, as_tasks.smallest_gain) == (more.accepted, more.smallest_gain)


@pytest.mark.parametrize(("tasks", "flips", "repeats", "confidence"), [(17, 4, 1, 0.75), (30, 12, 2, 0.9)])
def test_a_confidence_keeps_the_chance_below_its_level(tasks: int, flips: int, repeats: int, confidence: float) -> None:
    """F19: the accept rate stays under the stated level, in the formula and in a simulation."""
    noise, trials = flipping(tasks, flips), 2000
    told = accepted_with_confidence(noise, tasks=tasks, repeats=repeats, confidence=confidence)
    assert 0 < told <= 1 - confidence
    passed = 0
    for gains in simulated_gains(noise, tasks=tasks, repeats=repeats, trials=trials):
        test = sign_test(sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains))
        passed += test.p_value <= 1 - confidence + 1e-12
    assert passed / trials == pytest.approx(told, abs=4 * (told / trials) ** 0.5)


@given(SCORES, st.floats(0.5, 0.99), st.integers(1, 3))
def test_the_level_of_a_confidence_holds_whatever_the_noise(
    rows: list[tuple[int, int]], confidence: float, repeats: int
) -> None:
    """F19."""
    noise = noise_of([[Fraction(score) for score in row] for row in rows])
    told = accepted_with_confidence(noise, tasks=noise.tasks, repeats=repeats, confidence=confidence)
    assert -1e-12 <= told <= 1 - confidence + 1e-6
