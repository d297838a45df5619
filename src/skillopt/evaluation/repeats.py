"""Several passes of one skill over the same tasks: what they come to, task by task and pass by pass.

A target that samples answers differently each time, so one pass is one draw. With several, a task's score is its mean
over the passes, and how far the passes lie apart says how much of a difference may be luck. Exact fractions throughout.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import stdev

from skillopt.evaluation.scores import GateMetric, mean_gate_score
from skillopt.types import Rollout


@dataclass(frozen=True, slots=True)
class Passes:
    """A skill measured once or several times on the same tasks.

    Attributes:
        means: Mean gate score of each pass, 0 to 1, in the order of their repeat numbers.
    """

    means: tuple[Fraction, ...]

    @property
    def mean(self) -> Fraction:
        """The mean of the passes."""
        return sum(self.means, Fraction()) / len(self.means)

    @property
    def spread(self) -> float | None:
        """The standard deviation of one pass (n - 1 in the denominator); None where there is only one."""
        return stdev(map(float, self.means)) if len(self.means) > 1 else None


def passes(rollouts: Iterable[Rollout], metric: GateMetric, *, weight: float) -> Passes:
    """Return the passes that rollouts belong to, told apart by their repeat numbers.

    Raises:
        ValueError: If there are none, or one of the passes has no measured rollout.
    """
    by_repeat: dict[int, list[Rollout]] = {}
    for rollout in rollouts:
        by_repeat.setdefault(rollout.repeat, []).append(rollout)
    if not by_repeat:
        raise ValueError("no rollout was measured, so there is no score")
    return Passes(
        tuple(mean_gate_score(by_repeat[repeat], metric, weight=weight) for repeat in sorted(by_repeat)),
    )


def by_task(rollouts: Iterable[Rollout]) -> dict[str, list[Rollout]]:
    """Return the measured rollouts of each task, by its id, in the order in which the tasks come first."""
    found: dict[str, list[Rollout]] = {}
    for rollout in rollouts:
        if rollout.measured:
            found.setdefault(rollout.task.id, []).append(rollout)
    return found


def task_means(rollouts: Iterable[Rollout], metric: GateMetric, *, weight: float) -> dict[str, Fraction]:
    """Return each task's mean gate score over its measured rollouts, by its id."""
    return {task: mean_gate_score(own, metric, weight=weight) for task, own in by_task(rollouts).items()}


def paired_means(
    before: Sequence[Rollout], after: Sequence[Rollout], metric: GateMetric, *, weight: float, draws: int
) -> list[tuple[Fraction, Fraction]]:
    """Return the mean gate scores of two skills on each task, in the order of `after`.

    A task takes part once `after` has `draws` measured rollouts of it: a first lucky one is no mean. `before` may have
    more, since its mean is compared, not pass with pass.
    """
    first, second = by_task(before), by_task(after)
    return [
        (mean_gate_score(first[task], metric, weight=weight), mean_gate_score(own, metric, weight=weight))
        for task, own in second.items()
        if len(own) == draws and task in first
    ]
