"""What a training came to in numbers, and what many of them say. Pure functions; scores are points of 100."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

SHARES = (0.25, 0.5, 1.0)
"""Shares of the call limit after which the gain is read."""


@dataclass(frozen=True, slots=True)
class Held:
    """The best skill after a commit: target calls until then, and its true score."""

    calls: int
    score: float


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate that the gate gave a verdict on.

    Attributes:
        effect: True score of the candidate minus that of the current skill.
        accepted: The verdict.
    """

    effect: float
    accepted: bool


@dataclass(frozen=True, slots=True)
class Training:
    """One training, as far as it is measured.

    Attributes:
        seed_score: True score of the seed skill.
        held: The best skill after each commit, in order, and at the end.
        judged: Every verdict.
        reported: The gain that the run reports: best skill minus seed skill on the selection split.
        target_calls: Calls of the target.
        optimizer_calls: Calls of the optimizer.
        harmful: Harmful sentences in the best skill.
    """

    seed_score: float
    held: tuple[Held, ...]
    judged: tuple[Judged, ...]
    reported: float
    target_calls: int
    optimizer_calls: int
    harmful: int

    @property
    def gain(self) -> float:
        """True gain at the end, however many calls it took."""
        return self.held[-1].score - self.seed_score if self.held else 0.0


def gain_within(training: Training, calls: float) -> float:
    """Return the true gain of the skill that a training held when it reached so many target calls."""
    scores = [held.score for held in training.held if held.calls <= calls]
    return scores[-1] - training.seed_score if scores else 0.0


def measures(training: Training, limit: int) -> dict[str, float]:
    """Return the numbers of one training.

    Args:
        training: The training.
        limit: The call limit: the target calls that the base row used with the same seed.
    """
    verdicts: dict[str, list[bool]] = {"useful": [], "useless": [], "harmful": []}
    for one in training.judged:
        kind = "useless" if one.effect == 0 else "useful" if one.effect > 0 else "harmful"
        verdicts[kind].append(one.accepted)
    return {
        **{f"gain {share:.0%}": gain_within(training, share * limit) for share in SHARES},
        "gain": training.gain,
        "reported": training.reported,
        "overstated": training.reported - training.gain,
        "target calls": training.target_calls,
        "optimizer calls": training.optimizer_calls,
        "harmful kept": training.harmful,
        **{f"{kind} accepted": sum(found) for kind, found in verdicts.items()},
        **{f"{kind} judged": len(found) for kind, found in verdicts.items()},
    }


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean with its standard error, over seeds."""

    value: float
    error: float


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean and its standard error; the error of a single value is not known (NaN)."""
    error = stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Mean(mean(values), error)


def difference(own: Sequence[Mapping[str, float]], base: Sequence[Mapping[str, float]], name: str) -> Mean:
    """Return the mean difference of a measure from the base row, paired by seed."""
    return mean_of([one[name] - other[name] for one, other in zip(own, base, strict=True)])


def rate(rows: Sequence[Mapping[str, float]], kind: str) -> float | None:
    """Return the share of all candidates of a kind that were accepted, over all seeds; None where there was none."""
    judged = sum(row[f"{kind} judged"] for row in rows)
    return sum(row[f"{kind} accepted"] for row in rows) / judged if judged else None
