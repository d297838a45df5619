"""Scores of one or many rollouts, exact: fractions are compared, never rounded floats.

Only what was measured counts. A rollout without a score enters neither side of a fraction, so an outage cannot look
like a wrong answer, and a mean over nothing is an error rather than 0.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeAlias

from skillopt.errors import EnvironmentLoadError
from skillopt.types import Criterion, Rollout, Score

if TYPE_CHECKING:
    from skillopt.config.evaluation_settings import EvaluationSettings

GateMetric: TypeAlias = Literal["hard", "soft", "mixed"] | Criterion
"""What the gate compares: the score, as `evaluation.gate_metric` spells it, or one criterion of it."""

_LARGEST_DENOMINATOR = 10**6
"""Partial credit counts items or characters, far fewer than this; floats tell such fractions apart without doubt."""


def exact(value: float) -> Fraction:
    """Return the fraction that a float stands for: the nearest one with a denominator up to a million.

    A scorer that means 2/3 can only store the float next to it. Taken at its bits, three tasks of 2/3 would not add up
    to 2, and a tie could pass for a gain; taken as 2/3, they do.
    """
    return Fraction(value).limit_denominator(_LARGEST_DENOMINATOR)


def gate_value(score: Score, metric: GateMetric, *, weight: float) -> Fraction:
    """Return one task's gate score, 0 to 1.

    Args:
        score: The task's score.
        metric: `hard` counts solved tasks, `soft` partial credit, `mixed` is (1 - weight) * hard + weight * soft; a
            criterion counts by its own value.
        weight: Share of partial credit in `mixed`, 0 to 1; the others do not look at it.

    Raises:
        ValueError: For an unknown metric, or a weight outside 0 and 1.
        EnvironmentLoadError: If the score has no such criterion.
    """
    if not 0 <= weight <= 1:
        raise ValueError(f"the weight of partial credit is {weight}; it must be from 0 to 1")
    match metric:
        case "hard":
            return Fraction(score.hard)
        case "soft":
            return exact(score.soft)
        case "mixed":
            return (1 - exact(weight)) * score.hard + exact(weight) * exact(score.soft)
        case Criterion(name):
            require_criteria(score, [name])
            return exact(score.criteria[name])
        case _:  # pyright: ignore[reportUnnecessaryComparison] - a name may come from outside the type checker's sight
            raise ValueError(f"gate metric {metric!r} is unknown; it must be hard, soft or mixed")


def mean_gate_score(rollouts: Iterable[Rollout], metric: GateMetric, *, weight: float) -> Fraction:
    """Return the mean gate score of the measured rollouts, 0 to 1.

    Raises:
        ValueError: If none was measured: there is no score then, not a score of 0.
    """
    values = [gate_value(rollout.score, metric, weight=weight) for rollout in rollouts if rollout.score is not None]
    if not values:
        raise ValueError("no rollout was measured, so there is no score")
    return sum(values, Fraction()) / len(values)


def gate_score(rollouts: Iterable[Rollout], evaluation: EvaluationSettings) -> Fraction:
    """Return the mean gate score of the measured rollouts by the settings' metric, 0 to 1.

    Raises:
        ValueError: If none was measured.
    """
    return mean_gate_score(rollouts, evaluation.compared, weight=evaluation.gate_mixed_weight)


def require_criteria(score: Score, names: Iterable[str], *, where: str = "") -> None:
    """Raise `EnvironmentLoadError`, with the names there are, unless a score has all the named criteria."""
    missing = [name for name in names if name not in score.criteria]
    if missing:
        named, there_are = ", ".join(map(repr, missing)), ", ".join(map(repr, score.criteria)) or "none"
        raise EnvironmentLoadError(
            f"{where}the score has no criterion {named}; the criteria there are: {there_are}",
            hint="Name one of these in evaluation.criterion or evaluation.guards, or let the scorer return it as "
            "Score(..., criteria={'name': 0.5}) for every task.",
        )


def criteria_means(rollouts: Iterable[Rollout]) -> dict[str, Fraction]:
    """Return the mean of each criterion that all the measured rollouts have, 0 to 1, by name."""
    scores = [rollout.score for rollout in rollouts if rollout.score is not None]
    names = [name for name in scores[0].criteria if all(name in score.criteria for score in scores)] if scores else []
    return {name: sum((exact(score.criteria[name]) for score in scores), Fraction()) / len(scores) for name in names}


def solved(rollouts: Iterable[Rollout]) -> tuple[int, int]:
    """Return how many of the measured rollouts solved their task, and how many were measured."""
    hard = [rollout.score.hard for rollout in rollouts if rollout.score is not None]
    return sum(hard), len(hard)


def format_solved(count: int, measured: int) -> str:
    """Return a share as people read it, with what it was counted from: "13/20 (65.0 %)".

    Raises:
        ValueError: Unless 0 <= count <= measured.
    """
    if not 0 <= count <= measured:
        raise ValueError(f"{count} of {measured} is no share")
    return f"{count}/{measured} ({100 * count / measured:.1f} %)" if measured else "0/0 (nothing measured)"
