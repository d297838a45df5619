"""The simulated worlds: what there is to learn, how the target wavers, how good the optimizer is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from skillopt.simulation.optimizer import SimulatedOptimizer
from skillopt.simulation.target import SimulatedTarget
from skillopt.simulation.world import World

TRAINING_TASKS = 80
RULES = 24


@dataclass(frozen=True)
class Setting:
    """A kind of world; each seed makes one of it.

    Attributes:
        name: As the table calls it.
        selection: Selection tasks.
        noise: Chance that the answer to a task that wavers is wrong where it could be right, or right by luck.
        wavering: Share of the tasks that waver.
        optimizer: Arguments of the simulated optimizer.
        known: Share of the rules that the seed skill holds.
    """

    name: str
    selection: int
    noise: float
    wavering: float
    optimizer: Mapping[str, float]
    known: float = 0.0

    @property
    def null(self) -> bool:
        """Whether there is nothing to gain: no edit helps."""
        return not self.optimizer["useful"]

    def open(self, seed: int) -> OpenWorld:
        """Return the world of a seed."""
        tasks = TRAINING_TASKS + self.selection + 1  # one for the test split, which no training here looks at
        return OpenWorld(self, World(seed, rules=RULES, tasks=tasks, advice=100, misguided=8))


@dataclass(frozen=True)
class OpenWorld:
    """One world with its two models."""

    setting: Setting
    world: World

    @cached_property
    def seed_skill(self) -> str:
        """The skill that training starts with."""
        known = self.world.rules[: round(self.setting.known * len(self.world.rules))]
        return self.world.skill([self.world.useless[0], *(rule.sentence for rule in known)])

    def target(self) -> SimulatedTarget:
        """Return the target."""
        return SimulatedTarget(self.world, noise=self.setting.noise, wavering=self.setting.wavering)

    def optimizer(self) -> SimulatedOptimizer:
        """Return the optimizer."""
        return SimulatedOptimizer(self.world, **self.setting.optimizer)  # type: ignore[arg-type]

    def true_score(self, skill_text: str) -> float:
        """Return the exact expected score of a skill, in points of 100."""
        score = self.world.true_score(skill_text, noise=self.setting.noise, wavering=self.setting.wavering)
        return float(100 * score)

    def harmful_sentences(self, skill_text: str) -> int:
        """Return how many harmful sentences stand in a skill."""
        knowledge = self.world.knowledge(skill_text)
        return len(knowledge.spoiled) + len(knowledge.misled)


GOOD: Mapping[str, float] = {
    "useful": 0.6, "useless": 0.25, "harmful": 0.15, "malformed": 0.05, "heeds": 0.7, "strays": 1.0,
    "discerns": 0.8,
}  # fmt: skip
WEAK: Mapping[str, float] = {
    "useful": 0.25, "useless": 0.45, "harmful": 0.3, "malformed": 0.1, "heeds": 0.4, "strays": 1.0,
    "discerns": 0.3,
}  # fmt: skip
IDLE: Mapping[str, float] = {
    "useful": 0.0,
    "useless": 1.0,
    "harmful": 0.0,
    "malformed": 0.05,
    "heeds": 0.7,
    "strays": 1.0,
}

QUIET: Mapping[str, float] = {"noise": 0.1, "wavering": 0.1}
NOISY: Mapping[str, float] = {"noise": 0.3, "wavering": 0.4}


def _null(selection: int, name: str, noise: Mapping[str, float]) -> Setting:
    return Setting(f"null, {selection} tasks, {name}", selection, **noise, optimizer=IDLE, known=0.5)


def _mixed(optimizer: str, rates: Mapping[str, float], name: str, noise: Mapping[str, float]) -> Setting:
    return Setting(f"{optimizer} optimizer, {name}", 40, **noise, optimizer=rates)


SETTINGS: tuple[Setting, ...] = (
    *(_mixed("good", GOOD, name, noise) for name, noise in (("quiet", QUIET), ("noisy", NOISY))),
    *(_mixed("weak", WEAK, name, noise) for name, noise in (("quiet", QUIET), ("noisy", NOISY))),
    *(_null(tasks, name, noise) for tasks in (17, 40, 200) for name, noise in (("quiet", QUIET), ("noisy", NOISY))),
)
