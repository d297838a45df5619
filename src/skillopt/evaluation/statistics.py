"""What a difference between two skills is worth: exact tests and intervals that hold for a handful of tasks.

Pure functions of counts and paired scores. They judge nothing: the gate reports the sign test beside its decision, and
`skillopt eval` shows the intervals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

from skillopt.types import SignTest


@dataclass(frozen=True, slots=True)
class Interval:
    """A range that holds the true value with the stated confidence."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Two skills on the same tasks.

    Attributes:
        tasks: Number of tasks both were measured on.
        difference: Mean score of the second skill less that of the first, -1 to 1, exact.
        interval: Where the difference lies over tasks of this kind.
        sign_test: On the tasks whose score changed; `better` counts those on which the second skill scored higher.
        two_sided_p: Chance of a change at least as lopsided, in either direction, if either were equally likely.
    """

    tasks: int
    difference: Fraction
    interval: Interval
    sign_test: SignTest
    two_sided_p: float


def sign_test(better: int, worse: int) -> SignTest:
    """Return the exact one-sided sign test: P(X >= better) for X binomial over `better + worse` fair coin flips.

    Raises:
        ValueError: For a negative count.
    """
    return SignTest(better, worse, _upper_tail(better, worse))


def two_sided_p_value(better: int, worse: int) -> float:
    """Return the exact two-sided p-value of the sign test: twice the smaller tail, at most 1 (McNemar's exact test).

    Raises:
        ValueError: For a negative count.
    """
    return min(1.0, 2 * _upper_tail(max(better, worse), min(better, worse)))


def paired_sign_test(first: Sequence[Fraction], second: Sequence[Fraction]) -> SignTest:
    """Return the sign test of paired scores; tasks with equal scores say nothing and drop out.

    Raises:
        ValueError: If the two are not of one length.
    """
    pairs = list(zip(first, second, strict=True))
    return sign_test(sum(b > a for a, b in pairs), sum(b < a for a, b in pairs))


def wilson_interval(successes: int, total: int, *, confidence: float = 0.95) -> Interval:
    """Return Wilson's score interval of a proportion (E. B. Wilson, JASA 22, 1927); it holds for small totals too.

    Raises:
        ValueError: Unless 0 <= successes <= total, total >= 1 and 0 < confidence < 1.
    """
    if total < 1 or not 0 <= successes <= total:
        raise ValueError(f"{successes} of {total} is no proportion")
    return _wilson(Fraction(successes, total), total, _normal_quantile(confidence))


def paired_difference(
    first: Sequence[Fraction], second: Sequence[Fraction], *, confidence: float = 0.95
) -> PairedDifference:
    """Compare two skills by their scores on the same tasks.

    The interval is R. G. Newcombe's for paired proportions (Statistics in Medicine 17, 1998, method 10): Wilson's
    interval of each mean, joined by the correlation of the pairs, which is corrected downwards for small samples. It
    keeps its width where few or no tasks changed, as a bootstrap of the differences would not. For partial credit the
    same formula is on the safe side: of all scores within 0 and 1 with a given mean, those of 0 and 1 vary most.

    Args:
        first: Score of the first skill on each task, 0 to 1.
        second: Score of the second skill on the same tasks in the same order.
        confidence: Share of such intervals that hold the true difference, between 0 and 1.

    Raises:
        ValueError: If there are no tasks, the two are not of one length, or a score or the confidence is out of range.
    """
    if len(first) != len(second) or not first:
        raise ValueError(f"{len(first)} and {len(second)} scores are no pairs")
    if not all(0 <= score <= 1 for score in (*first, *second)):
        raise ValueError("scores must be from 0 to 1")
    total, z = len(first), _normal_quantile(confidence)
    mean_first, mean_second = sum(first, Fraction()) / total, sum(second, Fraction()) / total
    difference = mean_second - mean_first
    correlation = _corrected_correlation(first, second)
    wilson_first, wilson_second = _wilson(mean_first, total, z), _wilson(mean_second, total, z)

    def reach(rise: float, fall: float) -> float:
        return math.sqrt(max(0.0, rise**2 - 2 * correlation * rise * fall + fall**2))

    centre = float(difference)
    down = reach(float(mean_second) - wilson_second.low, wilson_first.high - float(mean_first))
    up = reach(wilson_second.high - float(mean_second), float(mean_first) - wilson_first.low)
    test = paired_sign_test(first, second)
    return PairedDifference(
        tasks=total,
        difference=difference,
        interval=Interval(max(-1.0, centre - down), min(1.0, centre + up)),
        sign_test=test,
        two_sided_p=two_sided_p_value(test.better, test.worse),
    )


def _upper_tail(better: int, worse: int) -> float:
    if better < 0 or worse < 0:
        raise ValueError(f"{better} better and {worse} worse are no counts")
    changed = better + worse
    ways = term = math.comb(changed, better)
    for heads in range(better, changed):
        term = term * (changed - heads) // (heads + 1)
        ways += term
    # One division of whole numbers at the end: no sum of rounded terms, and 1.0 exactly where no task changed.
    return ways / 2**changed


def _normal_quantile(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence is {confidence}; it must lie between 0 and 1")
    return NormalDist().inv_cdf(0.5 + confidence / 2)


def _wilson(mean: Fraction, total: int, z: float) -> Interval:
    share = float(mean)
    centre = share + z * z / (2 * total)
    half = z * math.sqrt(float(mean * (1 - mean)) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    # At the ends the formula gives 0 and 1 but for a rounding error; a share of 1 must not lie outside its interval.
    low = 0.0 if mean == 0 else max(0.0, (centre - half) / scale)
    high = 1.0 if mean == 1 else min(1.0, (centre + half) / scale)
    return Interval(low, high)


def _corrected_correlation(first: Sequence[Fraction], second: Sequence[Fraction]) -> float:
    """Return the correlation of the pairs, with half a pair taken off where it is positive; 0 where one is constant.

    For scores of 0 and 1 this is Newcombe's corrected phi: (ad - bc - n/2) over the root of the margins' product.
    """
    total = len(first)
    mean_first, mean_second = sum(first, Fraction()) / total, sum(second, Fraction()) / total
    covariance = sum((a * b for a, b in zip(first, second, strict=True)), Fraction()) / total - mean_first * mean_second
    if covariance > 0:
        covariance = max(Fraction(), covariance - Fraction(1, 2 * total))
    variance_first = sum((a * a for a in first), Fraction()) / total - mean_first**2
    variance_second = sum((b * b for b in second), Fraction()) / total - mean_second**2
    if not variance_first or not variance_second:
        return 0.0
    return float(covariance) / math.sqrt(variance_first * variance_second)
