"""The real run without a disk: the product's loop, stages and decisions over models in this process.

What differs from a run of `skillopt train` is only what a benchmark of thousands of trainings cannot pay for: rollouts
are kept in memory instead of the evidence file and need no thread of their own, and nobody watches, so no events and no
pages are written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from skillopt.events import Event
from skillopt.models.base import ChatRequest
from skillopt.models.prices import Prices
from skillopt.results import MetaSkill, SlowUpdate, Step
from skillopt.run.accounts import Accounts
from skillopt.run.event_log import EventLog
from skillopt.run.evidence import EvidenceStore
from skillopt.run.history import Record
from skillopt.run.models import Models
from skillopt.run.run import Run
from skillopt.run.setup import Setup
from skillopt.run.views import Views
from skillopt.skill.document import Skill
from skillopt.state import Measured, State
from skillopt.types import Decision, Message, Place, Rollout, Task, Trajectory


class NoLog(EventLog):
    """An event log that nobody reads."""

    def __init__(self) -> None:
        pass

    def emit(self, event: Event) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass


class NoViews(Views):
    """The pages of a run that nobody reads; the records are kept, since later ones are made from them."""

    def write_baseline(self, seed: Measured, record: Record) -> None:
        self.records.append(record)

    def write_step(self, after: State, step: Step, record: Record) -> None:
        self.records.append(record)

    def write_epoch_stage(self, after: State, record: Record) -> None:
        self.records[-1] = record

    def write_slow_update_files(self, result: SlowUpdate, record: Record) -> None:
        pass

    def write_meta_skill_files(self, result: MetaSkill, record: Record) -> None:
        pass

    def write_tests(self, *, seed: Sequence[Rollout], best: Sequence[Rollout]) -> None:
        pass

    def write_final(self, state: State) -> None:
        pass

    def write_summary(self, summary: Record) -> None:
        pass


class MemoryRun(Run):
    """A run that keeps what it measured in memory, and tells what the gate decided.

    Attributes:
        held: After each commit: the target calls so far, and the text of the best skill.
        judged: What came before the gate: text of the current skill, text of the candidate, the decision.
    """

    def __init__(self, setup: Setup, models: Models) -> None:
        directory = setup.loaded.path.parent / "in_memory"  # Nothing is written there; it is never made.
        super().__init__(
            setup,
            directory=directory,
            models=models,
            evidence=EvidenceStore(Path(":memory:")),
            events=NoLog(),
            accounts=Accounts(Prices(setup.config.model, on=date(2026, 1, 1))),
        )
        self._views = NoViews(directory)
        self._target = models.target
        self._known: dict[tuple[str, str, int], Rollout] = {}
        self._presented: dict[str, tuple[Message, ...]] = {}
        self.held: list[tuple[int, str]] = []
        self.judged: list[tuple[str, str, Decision]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._evidence.close()

    def calls(self, role: Any) -> int:
        """Return the calls that were used so far, of one role."""
        return self._accounts.used.total(role).usage.calls

    def emit(self, event: Event) -> None:
        """Tell nobody."""

    async def measure(
        self,
        skill: Skill,
        tasks: Sequence[Task],
        place: Place,
        *,
        repeat: int = 0,
        most_unmeasured: int | None = None,
    ) -> tuple[Rollout, ...]:
        """Roll out a skill on tasks; what was measured before costs nothing."""
        return tuple([await self._roll_out(skill, task, replace(place, attempt=repeat)) for task in tasks])

    async def _roll_out(self, skill: Skill, task: Task, place: Place) -> Rollout:
        key = (skill.digest, task.id, place.attempt)
        known = self._known.get(key)
        if known is None:
            if task.id not in self._presented:
                self._presented[task.id] = self._environment.present(task).messages
            asked = self._presented[task.id]
            reply = await self._target.reply(ChatRequest((Message("system", skill.text), *asked), place))
            turns = (*asked, Message("assistant", reply.text))
            done = Trajectory(turns=turns, output=reply.text, finish_reason=reply.finish_reason, usage=reply.usage)
            score = self._environment.score(task, done)
            known = self._known[key] = Rollout(task, skill.digest, place.attempt, trajectory=done, score=score)
        self._accounts.use_rollout(place, repr(key), known)
        return known

    def commit(self, before: State, step: Step) -> State:
        """Commit a step, and note what it came to."""
        after = super().commit(before, step)
        for drawn in (*before.lost, step):
            self._judge(before.current.skill, drawn.candidate.skill, drawn.decision)
        self._hold(after)
        return after

    def commit_slow_update(self, before: State, result: SlowUpdate) -> State:
        """Commit a slow update, and note what it came to."""
        after = super().commit_slow_update(before, result)
        self._judge(before.current.skill, result.candidate, result.decision)
        self._hold(after)
        return after

    def _judge(self, current: Skill, candidate: Skill, decision: Decision) -> None:
        self.judged.append((current.text, candidate.text, decision))

    def _hold(self, state: State) -> None:
        self.held.append((self.calls("target"), state.best.skill.text))
