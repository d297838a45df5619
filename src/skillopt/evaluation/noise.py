"""How much of a difference on the selection split is noise, from the same skill measured twice or more.

Pure functions of per-task scores. The model: an edit that changes nothing is a fresh pass of the same skill, and the
difference it seems to make on one task is a draw from the differences that were seen between passes, either sign being
equally likely. Over tasks and passes the draws are independent, so the gain that such an edit seems to have is a sum of
tasks x repeats draws. Its distribution is worked out exactly where its grid is small, which it is for solved tasks;
otherwise by the normal approximation.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from statistics import NormalDist, variance

from skillopt.evaluation.scores import exact

RARE = 0.05
"""A gain counts as shown if an edit that changes nothing reaches it with at most this chance."""

_LARGEST_GRID = 1000
"""Most grid points above zero of a distribution that is worked out exactly: a tenth of a second."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What passes of one skill over the same tasks have in common, and what not.

    Attributes:
        tasks: Tasks that every pass measured.
        means: Mean score of each pass, 0 to 1.
        changed: Tasks whose score is not the same in all passes.
        flip_rate: Share of tasks whose score differs between two passes, 0 to 1; the mean over all pairs of passes.
        spread: Standard deviation of the mean of one pass on these tasks, from the variance within each task.
        differences: The size of the difference between two passes on one task, 0 to 1, with its chance.
    """

    tasks: int
    means: tuple[Fraction, ...]
    changed: int
    flip_rate: float
    spread: float
    differences: tuple[tuple[Fraction, Fraction], ...]


@dataclass(frozen=True, slots=True)
class Forecast:
    """What the gate would make of an edit that changes nothing, with so many tasks and passes.

    Attributes:
        tasks: Selection tasks.
        repeats: Passes over them, for the current skill and for the candidate.
        step: The smallest difference there is between two scores, 0 to 1.
        smallest_gain: The smallest gain that noise reaches with a chance of at most `RARE`, 0 to 1.
        accepted: Chance that such an edit scores strictly higher and is accepted.
        seeming_gain: The gain that it then seems to have, on average, 0 to 1.
    """

    tasks: int
    repeats: int
    step: float
    smallest_gain: float
    accepted: float
    seeming_gain: float

    @property
    def rollouts(self) -> int:
        """Rollouts of one candidate that is measured in full."""
        return self.tasks * self.repeats


def noise_of(scores: Sequence[Sequence[Fraction]]) -> Noise:
    """Return the noise in the scores of one skill.

    Args:
        scores: For each task its score in each pass, 0 to 1.

    Raises:
        ValueError: If there is no task, there are fewer than two passes, or not all tasks have as many.
    """
    counts = {len(row) for row in scores}
    if len(counts) != 1 or min(counts) < 2:
        raise ValueError(f"tasks with {sorted(counts)} passes: every task needs the same number, at least two")
    (passes,) = counts
    differences = Counter(abs(one - other) for row in scores for one, other in combinations(row, 2))
    total = differences.total()
    return Noise(
        tasks=len(scores),
        means=tuple(sum((row[number] for row in scores), Fraction()) / len(scores) for number in range(passes)),
        changed=sum(len(set(row)) > 1 for row in scores),
        flip_rate=1 - differences[Fraction()] / total,
        spread=math.sqrt(float(sum(map(variance, scores)))) / len(scores),
        differences=tuple((size, Fraction(count, total)) for size, count in sorted(differences.items())),
    )


def forecast(noise: Noise, *, tasks: int, repeats: int) -> Forecast:
    """Return what an edit that changes nothing would come to with so many tasks of this kind and so many passes."""
    draws = tasks * repeats
    scale = math.lcm(*(size.denominator for size, _ in noise.differences))
    if not noise.flip_rate:
        # Every pass says the same, so more of them make no finer steps.
        return Forecast(tasks, repeats, 1 / tasks, 1 / tasks, 0.0, 0.0)
    step = 1 / (scale * draws)
    if scale * draws <= _LARGEST_GRID:
        tie, seeming, smallest = _exactly(_sum_of_draws(noise, draws, scale), step)
    else:
        tie, seeming, smallest = _normally(noise, draws, step)
    accepted = (1 - tie) / 2
    return Forecast(tasks, repeats, step, max(step, smallest), accepted, seeming)


def accepted_with_confidence(noise: Noise, *, tasks: int, repeats: int, confidence: float) -> float:
    """Return the highest chance that an edit that changes nothing passes the sign test at a confidence.

    Tasks are independent: with the chance u each one is better, and with as much it is worse, by its mean over the
    passes. So the better and the worse tasks are counted by a trinomial distribution, and the sign test knows no more.
    """
    changing = 2 * _chance_of_better(noise, repeats)
    return sum(
        _binomial(changed, tasks, changing) * _highest_passing(changed, 1 - exact(confidence))
        for changed in range(tasks + 1)
    )


def _chance_of_better(noise: Noise, repeats: int) -> float:
    """The chance that one task's mean over the passes is higher for a skill that is no better."""
    scale = math.lcm(*(size.denominator for size, _ in noise.differences))
    if scale * repeats > _LARGEST_GRID:
        return (1 - (1 - noise.flip_rate) ** repeats) / 2
    chances = _sum_of_draws(noise, repeats, scale)
    return (1 - chances[len(chances) // 2]) / 2


def _binomial(successes: int, total: int, chance: float) -> float:
    if chance in (0.0, 1.0):
        return float(successes == total * chance)
    ways = math.lgamma(total + 1) - math.lgamma(successes + 1) - math.lgamma(total - successes + 1)
    return math.exp(ways + successes * math.log(chance) + (total - successes) * math.log1p(-chance))


def _highest_passing(changed: int, most: Fraction) -> float:
    """The highest p-value of a sign test on so many changed tasks that is at most `most`; 0 where none is.

    It is also the chance of passing, if each change is a coin flip.
    """
    tail = passing = 0
    ways = 1  # of `better` among `changed`, from all of them down
    for better in range(changed, -1, -1):
        tail += ways
        if Fraction(tail, 2**changed) > most:
            break
        passing = tail
        ways = ways * better // (changed - better + 1)
    return passing / 2**changed


def _sum_of_draws(noise: Noise, draws: int, scale: int) -> list[float]:
    """The chances of each sum of so many signed differences, on a grid of 1 / scale from -draws to +draws."""
    one = [0.0] * (2 * scale + 1)
    for size, chance in noise.differences:
        place = int(size * scale)
        one[scale + place] += float(chance) / 2
        one[scale - place] += float(chance) / 2
    result, power = [1.0], one
    while draws:
        if draws % 2:
            result = _convolved(result, power)
        draws //= 2
        if draws:
            power = _convolved(power, power)
    return result


def _convolved(first: Sequence[float], second: Sequence[float]) -> list[float]:
    result = [0.0] * (len(first) + len(second) - 1)
    for place, chance in enumerate(first):
        if chance:
            for offset, other in enumerate(second):
                result[place + offset] += chance * other
    return result


def _exactly(chances: Sequence[float], step: float) -> tuple[float, float, float]:
    """The chance of a tie, the mean of the gains above zero, and the smallest one that is rare."""
    middle = len(chances) // 2
    above = chances[middle + 1 :]
    seeming = sum(number * chance for number, chance in enumerate(above, start=1)) / sum(above) * step
    tail, smallest = 0.0, len(above) + 1
    while smallest > 1 and tail + above[smallest - 2] <= RARE:
        tail += above[smallest - 2]
        smallest -= 1
    return chances[middle], seeming, smallest * step


def _normally(noise: Noise, draws: int, step: float) -> tuple[float, float, float]:
    """The same by the normal approximation: a sum of many draws, whose ties are those of its grid."""
    deviation = math.sqrt(float(sum(size * size * chance for size, chance in noise.differences)) / draws)
    tie = max((1 - noise.flip_rate) ** draws, math.erf(step / 2 / deviation / math.sqrt(2)))
    return tie, deviation * math.sqrt(2 / math.pi), NormalDist(0, deviation).inv_cdf(1 - RARE)
