"""Models, evidence, events and spending of a run, behind the small protocol that the stages see."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from skillopt.config.schema import Config
from skillopt.digests import generator
from skillopt.environments.base import Environment, EnvironmentSettings
from skillopt.evaluation.acceptance import AcceptanceRule
from skillopt.evaluation.runner import unmeasured_allowed
from skillopt.events import EpochStageCommitted, Event, StageProgress, StageStarted, StepCommitted, Warned
from skillopt.models.base import ReplySchema
from skillopt.models.journal import JournaledModel
from skillopt.models.structured import Answer, ReplyT
from skillopt.run.accounts import Accounts
from skillopt.run.asking import Asker
from skillopt.run.event_log import EventLog
from skillopt.run.evidence import EvidenceStore
from skillopt.run.measuring import open_evaluator
from skillopt.run.models import Models
from skillopt.run.setup import Setup
from skillopt.run.stage_clock import StageClock
from skillopt.skill.document import Skill
from skillopt.types import Message, Place, Rollout, Task


class RunServices:
    """What the stages may ask of a run (`context.StageContext`): models, evaluators, random choices, events.

    Args:
        setup: Settings, tasks, environment and seed skill.
        models: Both models.
        evidence: What was recorded.
        events: The event log.
        accounts: What was used and paid.
    """

    def __init__(
        self, setup: Setup, *, models: Models, evidence: EvidenceStore, events: EventLog, accounts: Accounts
    ) -> None:
        self.splits = setup.splits
        self._acceptance = setup.acceptance
        self._config = setup.config
        self._environment = setup.environment
        self._events = events
        self._accounts = accounts
        journaled = JournaledModel(models.optimizer, evidence, role="optimizer", on_reply=accounts.use_reply)
        self._asker = Asker(journaled, evidence, count=self.count)
        self._evaluator, self._tester = (
            open_evaluator(setup, models, evidence, observer=self._observe, part_of_a_run=decides)
            for decides in (True, False)
        )
        self._counters: Counter[str] = Counter()
        self._clock = StageClock()
        self._done = self._total = 0

    @property
    def config(self) -> Config:
        """The run's settings."""
        return self._config

    @property
    def environment(self) -> Environment[EnvironmentSettings]:
        """What the tasks are."""
        return self._environment

    @property
    def selection(self) -> tuple[Task, ...]:
        """The selection split, in its order."""
        return self.splits.val

    @property
    def acceptance(self) -> AcceptanceRule | None:
        """The rule that decides at the gate in place of the strict one, where one is configured."""
        return self._acceptance

    @property
    def training(self) -> tuple[Task, ...]:
        """The training split, in its order."""
        return self.splits.train

    async def ask(
        self,
        messages: Sequence[Message],
        place: Place,
        schema: type[ReplyT],
        *,
        reply_schema: ReplySchema | None = None,
        may_fall_back: bool = False,
    ) -> Answer[ReplyT]:
        """Ask the optimizer for a structured reply; what had to be repaired, asked again or dropped is counted."""
        return await self._asker.ask(messages, place, schema, reply_schema=reply_schema, may_fall_back=may_fall_back)

    async def measure(
        self,
        skill: Skill,
        tasks: Sequence[Task],
        place: Place,
        *,
        repeat: int = 0,
        most_unmeasured: int | None = None,
    ) -> tuple[Rollout, ...]:
        """Roll out a skill on tasks, in the order of the tasks."""
        return await self._evaluator.measure(skill, tasks, place, repeat=repeat, most_unmeasured=most_unmeasured)

    async def measure_test(self, skill: Skill, place: Place) -> tuple[Rollout, ...]:
        """Roll out a skill on the test split. Nothing is decided on it, so what was missing is tried by every start."""
        most = unmeasured_allowed(self._config.evaluation.max_unmeasured, len(self.splits.test))
        return await self._tester.measure(skill, self.splits.test, place, most_unmeasured=most)

    def random(self, name: str, *place: int) -> random.Random:
        """Return the generator of one named random choice."""
        return generator(self._config.train.seed, name, *place)

    def count(self, name: str) -> None:
        """Add one to a named counter of the step's record."""
        self._counters[name] += 1

    def emit(self, event: Event) -> None:
        """Log an event and tell those who watch."""
        if isinstance(event, StageStarted):
            self._clock.start(event.stage)
            self._done, self._total = 0, event.total
        self._events.emit(event)
        if isinstance(event, StageProgress | StepCommitted | EpochStageCommitted):
            self._events.emit(self._accounts.spent())

    def warn(self, message: str) -> None:
        """Tell a person something once."""
        self.emit(Warned(message))

    def _observe(self, place: Place, key: str, rollout: Rollout, *, recorded: bool) -> None:
        """Account for a rollout and show the progress of its stage."""
        self._accounts.use_rollout(place, key, rollout)
        self._done += 1
        outcome = "unmeasured" if rollout.score is None else ("solved" if rollout.score.hard else "failed")
        self.emit(
            StageProgress(
                place.stage,
                place.epoch,
                place.step,
                self._done,
                self._total,
                detail=rollout.task.id,
                outcome=outcome,
                recorded=recorded,
            )
        )
