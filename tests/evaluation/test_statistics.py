from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.evaluation.statistics import (
    Interval,
    paired_difference,
    paired_sign_test,
    sign_test,
    two_sided_p_value,
    wilson_interval,
)

FLIPS = st.integers(0, 7)


def pairs(both: int, first_only: int, second_only: int, neither: int) -> tuple[list[Fraction], list[Fraction]]:
    first = [Fraction(1)] * (both + first_only) + [Fraction(0)] * (second_only + neither)
    second = [Fraction(1)] * both + [Fraction(0)] * first_only + [Fraction(1)] * second_only + [Fraction(0)] * neither
    return first, second


@given(FLIPS, FLIPS)
def test_the_sign_test_counts_all_coin_flips(better: int, worse: int) -> None:
    heads = [sum(flips) for flips in itertools.product((0, 1), repeat=better + worse)]
    test = sign_test(better, worse)
    assert (test.better, test.worse) == (better, worse)
    assert test.p_value == sum(count >= better for count in heads) / len(heads)


@given(FLIPS, FLIPS)
def test_the_two_sided_p_value_counts_flips_as_lopsided_either_way(better: int, worse: int) -> None:
    heads = [sum(flips) for flips in itertools.product((0, 1), repeat=better + worse)]
    distance = abs(better - worse)
    lopsided = sum(abs(2 * count - better - worse) >= distance for count in heads) / len(heads)
    assert two_sided_p_value(better, worse) == pytest.approx(lopsided, abs=0)


def test_no_changed_task_is_no_evidence() -> None:
    assert sign_test(0, 0).p_value == 1.0
    assert two_sided_p_value(0, 0) == 1.0


def test_thousands_of_tasks_do_not_overflow() -> None:
    assert sign_test(5000, 5000).p_value == pytest.approx(0.504, abs=1e-3)
    assert sign_test(5000, 0).p_value == 0.0


@pytest.mark.parametrize("counts", [(-1, 2), (2, -1)])
def test_negative_counts_are_refused(counts: tuple[int, int]) -> None:
    for test in (sign_test, two_sided_p_value):
        with pytest.raises(ValueError, match="no counts"):
            test(*counts)


def test_equal_scores_drop_out_of_the_sign_test() -> None:
    first = [Fraction(1, 2), Fraction(0), Fraction(1), Fraction(1)]
    second = [Fraction(1, 2), Fraction(1, 10), Fraction(1), Fraction(0)]
    test = paired_sign_test(first, second)
    assert (test.better, test.worse, test.p_value) == (1, 1, 0.75)


@pytest.mark.parametrize(
    ("successes", "total", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_wilson_interval_gives_the_published_values(successes: int, total: int, low: float, high: float) -> None:
    """The four examples of Newcombe, Statistics in Medicine 17 (1998), 857-872, table I, method 3."""
    assert wilson_interval(successes, total) == Interval(pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))


@given(st.integers(1, 400).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_wilson_interval_ends_where_the_score_test_turns(counts: tuple[int, int]) -> None:
    successes, total = counts
    interval = wilson_interval(successes, total)
    assert 0 <= interval.low <= successes / total <= interval.high <= 1
    for end in (interval.low, interval.high):
        if 0 < end < 1:
            z = (successes / total - end) / math.sqrt(end * (1 - end) / total)
            assert abs(z) == pytest.approx(1.959964, abs=1e-5)


@pytest.mark.parametrize(("successes", "total"), [(0, 0), (-1, 4), (5, 4)])
def test_what_is_no_proportion_has_no_interval(successes: int, total: int) -> None:
    with pytest.raises(ValueError, match="no proportion"):
        wilson_interval(successes, total)


@pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0])
def test_a_confidence_out_of_range_is_refused(confidence: float) -> None:
    with pytest.raises(ValueError, match="must lie between 0 and 1"):
        wilson_interval(1, 2, confidence=confidence)


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=30))
def test_the_paired_interval_turns_round_with_its_sides(scores: list[tuple[int, int]]) -> None:
    first, second = ([Fraction(pair[side], 12) for pair in scores] for side in (0, 1))
    there, back = paired_difference(first, second), paired_difference(second, first)
    assert there.difference == -back.difference == sum(b - a for a, b in zip(first, second, strict=True)) / len(scores)
    assert -1 <= there.interval.low <= there.difference <= there.interval.high <= 1
    assert there.interval.low == pytest.approx(-back.interval.high, abs=1e-12)
    assert (there.sign_test.better, there.sign_test.worse) == (back.sign_test.worse, back.sign_test.better)
    assert there.two_sided_p == back.two_sided_p
    wide = paired_difference(first, second, confidence=0.999).interval
    assert wide.low <= there.interval.low
    assert wide.high >= there.interval.high


def test_the_paired_interval_gives_the_published_values() -> None:
    """Newcombe, Statistics in Medicine 17 (1998), 2635-2650, method 10: the table 36, 12, 2, 0."""
    interval = paired_difference(*reversed(pairs(36, 12, 2, 0))).interval
    assert interval == Interval(pytest.approx(0.0569, abs=5e-5), pytest.approx(0.3404, abs=5e-5))


def test_skills_that_never_differed_on_few_tasks_are_not_called_equal() -> None:
    interval = paired_difference(*pairs(3, 0, 0, 3)).interval
    assert interval.low < -0.1
    assert interval.high > 0.1


@pytest.mark.parametrize("tasks", [4, 7, 12])
def test_the_paired_interval_holds_the_truth_about_as_often_as_it_says(tasks: int) -> None:
    """Brute force: every table of that many tasks, weighed by its chance under worlds near and far from equal."""
    tables = [table for table in itertools.product(range(tasks + 1), repeat=4) if sum(table) == tasks]
    intervals = [paired_difference(*pairs(*table)).interval for table in tables]
    coverages: list[float] = []
    for world in [(0.4, 0.1, 0.1, 0.4), (0.3, 0.05, 0.35, 0.3), (0.1, 0.0, 0.8, 0.1), (0.7, 0.1, 0.1, 0.1)]:
        truth = world[2] - world[1]
        chances = [
            math.prod(share**count / math.factorial(count) for share, count in zip(world, table, strict=True))
            * math.factorial(tasks)
            for table in tables
        ]
        holds = [interval.low <= truth <= interval.high for interval in intervals]
        coverages.append(sum(itertools.compress(chances, holds)))
    assert min(coverages) > 0.89
    assert sum(coverages) / len(coverages) > 0.94


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [([], [], "0 and 0 scores"), ([Fraction(1)], [], "1 and 0 scores"), ([Fraction(2)], [Fraction(1)], "from 0 to 1")],
)
def test_scores_that_are_no_pairs_are_refused(first: list[Fraction], second: list[Fraction], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        paired_difference(first, second)
