"""What a stage may ask of the run it is part of.

Stages are functions over frozen values; all they cost or change outside goes through this small protocol. The run
(`run/run.py`) implements it; so can a test.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Protocol

from skillopt.config.schema import Config
from skillopt.environments.base import Environment, EnvironmentSettings
from skillopt.evaluation.acceptance import AcceptanceRule
from skillopt.events import Event
from skillopt.models.base import ReplySchema
from skillopt.models.structured import Answer, ReplyT
from skillopt.results import MetaSkill, SlowUpdate
from skillopt.skill.document import Skill
from skillopt.state import State
from skillopt.types import Message, Place, Rollout, Task


class StageContext(Protocol):
    """The run, as a stage sees it."""

    @property
    def config(self) -> Config:
        """The run's settings."""
        ...

    @property
    def environment(self) -> Environment[EnvironmentSettings]:
        """What the tasks are."""
        ...

    @property
    def selection(self) -> tuple[Task, ...]:
        """The selection split, in its order."""
        ...

    @property
    def acceptance(self) -> AcceptanceRule | None:
        """The rule that decides at the gate in place of the strict one, where one is configured."""
        ...

    @property
    def training(self) -> tuple[Task, ...]:
        """The training split, in its order."""
        ...

    def saturated(self, state: State) -> bool:
        """Whether no candidate can be strictly higher than the current skill any more."""
        ...

    def ends_epoch(self, state: State) -> bool:
        """Whether a state's step is the last one of its epoch: what waits for the gate is judged then."""
        ...

    def ends_training(self, state: State) -> bool:
        """Whether a state's step is the last one of the run: what got no verdict by then gets none."""
        ...

    async def ask(
        self,
        messages: Sequence[Message],
        place: Place,
        schema: type[ReplyT],
        *,
        reply_schema: ReplySchema | None = None,
        may_fall_back: bool = False,
    ) -> Answer[ReplyT]:
        """Ask the optimizer for a structured reply; recorded evidence answers first.

        Where the provider can constrain replies, they are held to `reply_schema`, by default the schema's own.
        A stage that can go on without the reply says `may_fall_back`: a provider that fails for now then gives a
        dropped answer, and this is recorded, so that a replay falls back at the same place. Otherwise the failure ends
        the run.
        """
        ...

    async def measure(
        self,
        skill: Skill,
        tasks: Sequence[Task],
        place: Place,
        *,
        repeat: int = 0,
        most_unmeasured: int | None = None,
    ) -> tuple[Rollout, ...]:
        """Roll out a skill on tasks, in the order of the tasks; recorded evidence answers first.

        Rollouts of one task with different repeat numbers are draws of their own.
        More unmeasured tasks than `most_unmeasured` end the run; by default the share `evaluation.max_unmeasured`.
        """
        ...

    def random(self, name: str, *place: int) -> random.Random:
        """Return the generator of one named random choice."""
        ...

    def count(self, name: str) -> None:
        """Add one to a named counter of the step's record, such as `merge_fallbacks`."""
        ...

    def commit_slow_update(self, before: State, result: SlowUpdate) -> State:
        """Make a slow update final and return the state it leaves."""
        ...

    def commit_meta_skill(self, before: State, result: MetaSkill) -> State:
        """Make a meta skill final and return the state it leaves."""
        ...

    def emit(self, event: Event) -> None:
        """Tell those who watch."""
        ...
