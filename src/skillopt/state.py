"""What training carries from one step to the next."""

from __future__ import annotations

from dataclasses import dataclass

from skillopt.rejections import Rejections
from skillopt.skill.document import Skill
from skillopt.types import Rollout


@dataclass(frozen=True, slots=True)
class Measured:
    """A skill and what it did on the selection split.

    Attributes:
        skill: The skill.
        rollouts: One for each selection task, in the order of the split; all of them measured.
        step: The step that made the skill; 0 for the seed.
    """

    skill: Skill
    rollouts: tuple[Rollout, ...]
    step: int = 0


@dataclass(frozen=True, slots=True)
class State:
    """Where training stands.

    Attributes:
        epoch: From 1; 0 before training.
        step: From 1 over the whole run; 0 before training.
        total_steps: Steps of the whole run.
        current: The skill that training goes on with.
        best: The skill with the highest gate score so far.
        rejections: The edits that were tried and lost.
    """

    epoch: int
    step: int
    total_steps: int
    current: Measured
    best: Measured
    rejections: Rejections
