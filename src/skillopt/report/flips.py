"""Which tasks a skill does better and worse than another one: rows of two measurements in, tasks out.

The rule is the gate's own: a task's score is the mean of its rollouts by the gate's metric, exact, and a task counts
once the candidate was measured on it as often as the gate asks. What was not measured is neither better nor worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from skillopt.errors import EnvironmentLoadError
from skillopt.evaluation.scores import GateMetric, gate_value
from skillopt.report.stored_rows import RolloutRow
from skillopt.types import Criterion, Score


@dataclass(frozen=True, slots=True)
class Metric:
    """What the gate of a run compares.

    Attributes:
        compared: hard, soft, mixed or one criterion.
        weight: Share of partial credit in mixed, 0 to 1.
        repeats: Rollouts of a task that make its score, at least 1.
    """

    compared: GateMetric = "hard"
    weight: float = 0.5
    repeats: int = 1

    @classmethod
    def of_settings(cls, evaluation: Mapping[str, object]) -> Metric:
        """Return the metric that the section `evaluation` of a run's config.yaml names.

        Raises:
            ValueError, TypeError: For values that are none of a configuration.
        """
        criterion, named = evaluation.get("criterion"), str(evaluation.get("gate_metric", "hard"))
        compared: GateMetric
        if criterion is not None:
            compared = Criterion(str(criterion))
        elif named == "hard" or named == "soft" or named == "mixed":
            compared = named
        else:
            raise ValueError(f"gate_metric is {named!r}")
        weight, repeats = float(str(evaluation.get("gate_mixed_weight", 0.5))), int(str(evaluation.get("repeats", 1)))
        if not (0 <= weight <= 1 and repeats >= 1):
            raise ValueError(f"gate_mixed_weight is {weight}, repeats is {repeats}")
        return cls(compared, weight, repeats)


@dataclass(frozen=True, slots=True)
class Flip:
    """A task whose score changed: its id, and its scores with both skills, 0 to 1."""

    task_id: str
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Flips:
    """What a candidate did on the tasks of the skill that it had to beat.

    Attributes:
        fixed: Tasks on which it scored higher, in the order in which they were measured.
        broken: Tasks on which it scored lower.
        same: Number of tasks on which it scored the same.
        open: Number of tasks that were not measured with both: after an early stop, or where a rollout was lost.
    """

    fixed: tuple[Flip, ...]
    broken: tuple[Flip, ...]
    same: int
    open: int


def flips(before: Iterable[RolloutRow], after: Iterable[RolloutRow], metric: Metric) -> Flips:
    """Return the tasks that changed from one skill to another.

    Args:
        before: What the skill that was there did, in one pass or several.
        after: What the candidate did.
        metric: What the gate compares.
    """
    old, new = _values(before, metric), _values(after, metric)
    pairs = [
        (task, _mean(old[task]), _mean(own))
        for task, own in new.items()
        if old.get(task) and len(own) >= metric.repeats
    ]
    return Flips(
        fixed=tuple(Flip(task, float(one), float(two)) for task, one, two in pairs if two > one),
        broken=tuple(Flip(task, float(one), float(two)) for task, one, two in pairs if two < one),
        same=sum(one == two for _, one, two in pairs),
        open=len({*old, *new}) - len(pairs),
    )


def _values(rows: Iterable[RolloutRow], metric: Metric) -> dict[str, list[Fraction]]:
    """Return the gate scores of each task's rollouts; none of what was not measured."""
    found: dict[str, list[Fraction]] = {}
    for row in rows:
        own = found.setdefault(row.id, [])
        value = _value(row, metric)
        if value is not None:
            own.append(value)
    return found


def _value(row: RolloutRow, metric: Metric) -> Fraction | None:
    if row.hard is None or row.soft is None:
        return None
    try:
        return gate_value(Score(row.hard, row.soft, criteria=row.criteria), metric.compared, weight=metric.weight)
    except (EnvironmentLoadError, ValueError):  # a file that was changed by hand: no score is no change
        return None


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction()) / len(values)
