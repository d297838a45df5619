"""Two skills on the same tasks, task by task."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

from skillopt.types.tasks import Rollout, Task

PairPolicy: TypeAlias = Literal["mixed", "changed", "unchanged"]
"""Which pairs the optimizer looks back on: all, those whose score changed, or those whose score did not."""


class PairCategory(StrEnum):
    """What became of a task from one skill to the next, by its score; the names are the public ones."""

    IMPROVED = "improved"
    REGRESSED = "regressed"
    PERSISTENT_FAIL = "persistent_fail"
    STABLE_SUCCESS = "stable_success"

    @property
    def changed(self) -> bool:
        """Whether the score is another one than before."""
        return self in (PairCategory.IMPROVED, PairCategory.REGRESSED)


@dataclass(frozen=True, slots=True)
class Pair:
    """One task done with the skill of the previous epoch's end and with the current one; both were measured."""

    previous: Rollout
    current: Rollout
    category: PairCategory

    @property
    def task(self) -> Task:
        """The task."""
        return self.current.task


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two skills on the same training tasks.

    Attributes:
        policy: Which pairs are shown to the optimizer.
        previous: What the skill of the previous epoch's end did, in the order of the sample.
        current: What the current skill did on the same tasks.
        pairs: One for each task that was measured with both; a missing result is no category.
    """

    policy: PairPolicy
    previous: tuple[Rollout, ...]
    current: tuple[Rollout, ...]
    pairs: tuple[Pair, ...]

    @property
    def shown(self) -> tuple[Pair, ...]:
        """The pairs that the policy lets the optimizer see."""
        match self.policy:
            case "mixed":
                return self.pairs
            case "changed":
                return tuple(pair for pair in self.pairs if pair.category.changed)
            case "unchanged":
                return tuple(pair for pair in self.pairs if not pair.category.changed)

    @property
    def counts(self) -> dict[str, int]:
        """Number of pairs in each category, and of tasks that are in none."""
        found = Counter(pair.category for pair in self.pairs)
        counted = {category.value: found[category] for category in PairCategory}
        return {**counted, "unmeasured": len(self.current) - len(self.pairs)}
