"""Measuring a skill on tasks: the one place where a target does tasks, whoever asks.

Rollout, gate, slow update, final test and `skillopt eval` all come through here. What was measured before answers at
once; what is measured now is recorded before anything is derived from it. A task that could not be measured (outage,
timeout, a scorer that raised) is a failure with its reason, never a score, and too many of them stop the run.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from skillopt.concurrency import map_ordered
from skillopt.environments.base import Environment, EnvironmentSettings
from skillopt.errors import MeasurementError, TransientModelError, UnusableReplyError
from skillopt.evaluation.keys import measurement_protocol, rollout_key
from skillopt.harness.base import Harness
from skillopt.skill.document import Skill
from skillopt.types import Failure, Place, Rollout, Score, Task, Trajectory


class RolloutStore(Protocol):
    """Where rollouts are recorded (`run/evidence.py`)."""

    def get_rollout(self, key: str, task: Task) -> Rollout | None:
        """Return the recorded rollout of a task, or None."""
        ...

    def put_rollout(self, key: str, rollout: Rollout) -> None:
        """Record a measured rollout; on disk when this returns."""
        ...

    def get_given_up(self, key: str, place: Place) -> Failure | None:
        """Return why this place of the run went on without this measurement, or None."""
        ...

    def put_given_up(self, key: str, place: Place, failure: Failure) -> None:
        """Record that this place of the run goes on without this measurement."""
        ...


class Observer(Protocol):
    """Told of every rollout, in the order of completion."""

    def __call__(self, place: Place, key: str, rollout: Rollout, *, recorded: bool) -> None:
        """Take note of a rollout: who asked, its key, and whether the evidence answered."""
        ...


class Evaluator:
    """Rolls out skills on tasks.

    Args:
        environment: Presents and scores the tasks.
        harness: Does them.
        store: Evidence of earlier rollouts.
        workers: Most tasks under way at once.
        deadline: Seconds one task may take before it counts as unmeasured.
        max_unmeasured: Share of the tasks of one call that may stay unmeasured, 0 to 1.
        remember_failures: Record which tasks a place went on without, so that a replay of the run goes on without
            them too; otherwise they are tried again whenever they are asked for.
        observer: Told of every rollout.
    """

    def __init__(
        self,
        environment: Environment[EnvironmentSettings],
        harness: Harness,
        store: RolloutStore,
        *,
        workers: int,
        deadline: float,
        max_unmeasured: float,
        remember_failures: bool,
        observer: Observer,
    ) -> None:
        self._environment = environment
        self._harness = harness
        self._protocol = measurement_protocol(environment.identity, harness.identity)
        self._store = store
        self._workers = workers
        self._deadline = deadline
        self._max_unmeasured = max_unmeasured
        self._remember_failures = remember_failures
        self._observer = observer

    async def measure(
        self, skill: Skill, tasks: Sequence[Task], place: Place, *, repeat: int = 0
    ) -> tuple[Rollout, ...]:
        """Roll out a skill on tasks, in the order of the tasks.

        Raises:
            MeasurementError: As soon as more tasks are unmeasured than `max_unmeasured` allows.
            FatalModelError: If the target can never answer.
        """
        failures: list[Failure] = []

        async def one(task: Task) -> Rollout:
            rollout = await self._roll_out(skill, task, place, repeat)
            if rollout.failure is not None:
                failures.append(rollout.failure)
                if len(failures) > self._max_unmeasured * len(tasks):
                    raise MeasurementError(_too_few_measured(place, failures, len(tasks)), hint=_MEASUREMENT_HINT)
            return rollout

        rollouts = await map_ordered(one, tasks, limit=self._workers)
        for rollout in rollouts:
            if rollout.failure is not None and self._remember_failures:
                self._store.put_given_up(self._key(skill, rollout.task, repeat), place, rollout.failure)
        return tuple(rollouts)

    def _key(self, skill: Skill, task: Task, repeat: int) -> str:
        return rollout_key(self._protocol, skill_digest=skill.digest, task_digest=task.digest, repeat=repeat)

    async def _roll_out(self, skill: Skill, task: Task, place: Place, repeat: int) -> Rollout:
        key = self._key(skill, task, repeat)
        recorded = self._store.get_rollout(key, task)
        if recorded is not None:
            self._observer(place, key, recorded, recorded=True)
            return recorded
        given_up = self._store.get_given_up(key, place)
        if given_up is not None:
            rollout = Rollout(task, skill.digest, repeat, failure=given_up)
        else:
            rollout = await self._perform(skill, task, place, repeat)
        if rollout.measured:
            self._store.put_rollout(key, rollout)
        self._observer(place, key, rollout, recorded=False)
        return rollout

    async def _perform(self, skill: Skill, task: Task, place: Place, repeat: int) -> Rollout:
        """Do one task: what fails at this level is a value with its reason."""
        started = time.monotonic()
        try:
            async with asyncio.timeout(self._deadline):
                presentation = self._environment.present(task)
                trajectory = await self._harness.perform(skill.text, presentation, replace(place, attempt=repeat))
        except TimeoutError:
            failure = Failure("timeout", "target", "TimeoutError", f"no answer within {self._deadline:g} seconds")
            return Rollout(task, skill.digest, repeat, failure=failure)
        except (TransientModelError, UnusableReplyError) as error:
            failure = Failure("error", "target", type(error).__name__, error.message)
            return Rollout(task, skill.digest, repeat, failure=failure)
        trajectory = replace(trajectory, seconds=time.monotonic() - started)
        score = self._score(task, trajectory)
        if isinstance(score, Failure):
            return Rollout(task, skill.digest, repeat, trajectory=trajectory, failure=score)
        return Rollout(task, skill.digest, repeat, trajectory=trajectory, score=score)

    def _score(self, task: Task, trajectory: Trajectory) -> Score | Failure:
        """Score a trajectory. The declared seam to scorers that users write: whatever they raise is a failure."""
        try:
            return self._environment.score(task, trajectory)
        except Exception as error:  # noqa: BLE001 - a scorer is foreign code; its error is recorded, not swallowed
            return Failure("error", "score", type(error).__name__, str(error))


_MEASUREMENT_HINT = (
    "Nothing was decided on what could not be measured, and what was measured is kept: mend the cause and run the same "
    "command again. `evaluation.max_unmeasured` sets how much may be missing."
)


def _too_few_measured(place: Place, failures: Sequence[Failure], total: int) -> str:
    reasons = sorted({f"{failure.kind} in {failure.stage}: {failure.message}" for failure in failures})
    shown = "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more reasons" if len(reasons) > 3 else "")
    return f"{place.stage}: {len(failures)} of {total} tasks could not be measured ({shown})"
