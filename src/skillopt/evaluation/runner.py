"""Measuring a skill on tasks: the one place where a target does tasks, whoever asks.

Rollout, gate, slow update, final test and `skillopt eval` all come through here. What was measured before answers at
once; what is measured now is recorded before anything is derived from it: a trajectory before it is scored, so that a
mended scorer pays for none again. A task that could not be measured (outage, timeout, a scorer that raised) is a
failure with its reason, never a score, and too many of them stop the run.
"""

from __future__ import annotations

import asyncio
import copy
import math
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol, TypeVar

from skillopt.concurrency import call_in_thread, map_ordered
from skillopt.deadline import Deadline
from skillopt.environments.base import Environment, EnvironmentSettings, Presentation
from skillopt.environments.foreign import place_of, shape_of, undisturbed, words_of
from skillopt.errors import MeasurementError, TransientModelError, UnusableReplyError
from skillopt.evaluation.keys import measurement_protocol, rollout_key, trajectory_key
from skillopt.evaluation.scores import exact
from skillopt.harness.base import Harness
from skillopt.skill.document import Skill
from skillopt.types import Failure, Place, Rollout, Score, Task, Trajectory

ValueT = TypeVar("ValueT")

ENVIRONMENT_SECONDS = 60.0
"""Most seconds that an environment may take to present or to score one task."""


class RolloutStore(Protocol):
    """Where trajectories and rollouts are recorded (`run/evidence.py`)."""

    def get_trajectory(self, key: str) -> Trajectory | None:
        """Return what the target did, whether or not it could be scored, or None."""
        ...

    def put_trajectory(self, key: str, trajectory: Trajectory) -> None:
        """Record what the target did; on disk when this returns."""
        ...

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

    def recording(self, key: str) -> AbstractContextManager[None]:
        """Write what is paid within the block together with the record that it was paid for."""
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
        deadline: Seconds the target may work on one task; what takes longer is tried once more and then counts as
            unmeasured. Standing in line for a slot and the pauses between attempts are no work.
        max_unmeasured: Share of the tasks of one call that may stay unmeasured, 0 to 1.
        remember_failures: Record which tasks a place went on without, so that a replay of the run goes on without
            them too; otherwise they are tried again whenever they are asked for.
        observer: Told of every rollout.
        environment_seconds: Most seconds that the environment may take to present or to score a task.
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
        environment_seconds: float = ENVIRONMENT_SECONDS,
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
        self._environment_seconds = environment_seconds
        # Foreign code need not be safe for threads: it presents or scores one task at a time.
        self._environment_lock = asyncio.Lock()

    async def measure(
        self,
        skill: Skill,
        tasks: Sequence[Task],
        place: Place,
        *,
        repeat: int = 0,
        most_unmeasured: int | None = None,
    ) -> tuple[Rollout, ...]:
        """Roll out a skill on tasks, in the order of the tasks.

        Args:
            skill: The skill.
            tasks: The tasks.
            place: Who asks.
            repeat: 0, or the number of a repeat that is asked for.
            most_unmeasured: Most of these tasks that may stay unmeasured; by default the share `max_unmeasured` of
                them, rounded down.

        Raises:
            MeasurementError: As soon as more tasks are unmeasured than may be.
            FatalModelError: If the target can never answer.
        """
        most = unmeasured_allowed(self._max_unmeasured, len(tasks)) if most_unmeasured is None else most_unmeasured
        failures: list[Failure] = []

        async def one(task: Task) -> Rollout:
            rollout, recorded = await self._roll_out(skill, task, place, repeat)
            # What this place went on without, it was allowed to: a later limit does not judge it again.
            if rollout.failure is not None and not recorded:
                failures.append(rollout.failure)
                if len(failures) > most:
                    raise _too_few_measured(place, failures, total=len(tasks), most=most)
            return rollout

        rollouts = await map_ordered(one, tasks, limit=self._workers)
        for rollout in rollouts:
            if rollout.failure is not None and self._remember_failures:
                self._store.put_given_up(self._key(skill, rollout.task, repeat), place, rollout.failure)
        return tuple(rollouts)

    def _key(self, skill: Skill, task: Task, repeat: int) -> str:
        return rollout_key(self._protocol, skill_digest=skill.digest, task_digest=task.digest, repeat=repeat)

    async def _roll_out(self, skill: Skill, task: Task, place: Place, repeat: int) -> tuple[Rollout, bool]:
        """Return the rollout of a task, and whether it was recorded before."""
        key = self._key(skill, task, repeat)
        # What this place went on without comes first: another place may have measured it since, and a replay that saw
        # that would take another way than the run took.
        given_up = self._store.get_given_up(key, place)
        if given_up is not None:
            recorded = Rollout(task, skill.digest, repeat, failure=given_up)
        else:
            recorded = self._store.get_rollout(key, task)
        rollout = recorded or await self._perform(skill, task, place, repeat, key=key)
        if rollout.measured and recorded is None:
            self._store.put_rollout(key, rollout)
        self._observer(place, key, rollout, recorded=recorded is not None)
        return rollout, recorded is not None

    async def _perform(self, skill: Skill, task: Task, place: Place, repeat: int, *, key: str) -> Rollout:
        """Do one task, whose rollout has a key: what fails at this level is a value with its reason."""
        presentation = await self._ask_environment(
            "present", Presentation, lambda: self._environment.present(_own(task))
        )
        if isinstance(presentation, Failure):
            return Rollout(task, skill.digest, repeat, failure=presentation)
        done_as = trajectory_key(
            self._harness.identity,
            skill_digest=skill.digest,
            task_digest=task.digest,
            presentation=presentation,
            repeat=repeat,
        )
        trajectory = self._store.get_trajectory(done_as)
        if trajectory is None:
            with self._store.recording(key):
                trajectory = await self._ask_target(skill, presentation, replace(place, attempt=repeat))
                if isinstance(trajectory, Failure):
                    return Rollout(task, skill.digest, repeat, failure=trajectory)
                self._store.put_trajectory(done_as, trajectory)
        done = trajectory
        score = await self._ask_environment("score", Score, lambda: self._environment.score(_own(task), done))
        if isinstance(score, Failure):
            return Rollout(task, skill.digest, repeat, trajectory=trajectory, failure=score)
        return Rollout(task, skill.digest, repeat, trajectory=trajectory, score=score)

    async def _ask_target(self, skill: Skill, presentation: Presentation, place: Place) -> Trajectory | Failure:
        """Let the target do the task; once more where it took too long, since a call may hang by chance."""
        done = await self._ask_once(skill, presentation, place)
        if not _timed_out(done):
            return done
        again = await self._ask_once(skill, presentation, place)
        return done if _timed_out(again) else again

    async def _ask_once(self, skill: Skill, presentation: Presentation, place: Place) -> Trajectory | Failure:
        started = time.monotonic()
        deadline = Deadline(self._deadline)
        try:
            async with deadline:
                trajectory = await self._harness.perform(skill.text, presentation, place)
        except TimeoutError:
            earlier = f" (an earlier attempt failed: {deadline.last_reason})" if deadline.last_reason else ""
            message = f"no answer within {self._deadline:g} seconds{earlier}"
            return Failure("timeout", "target", "TimeoutError", message)
        except (TransientModelError, UnusableReplyError) as error:
            return Failure("error", "target", type(error).__name__, error.message)
        return replace(trajectory, seconds=time.monotonic() - started)

    async def _ask_environment(self, stage: str, wanted: type[ValueT], call: Callable[[], ValueT]) -> ValueT | Failure:
        """Present or score beside the event loop, so that slow code of a user's holds up nothing else."""
        async with self._environment_lock:
            try:
                # Put back by who waits: a call that was given up on ends later, beside a program that has moved on.
                with undisturbed():
                    return await call_in_thread(
                        lambda: _foreign(stage, wanted, call), seconds=self._environment_seconds
                    )
            except TimeoutError:
                message = f"{stage} took longer than {self._environment_seconds:g} seconds"
                return Failure("timeout", stage, "TimeoutError", message)


def _timed_out(done: Trajectory | Failure) -> bool:
    return isinstance(done, Failure) and done.kind == "timeout"


def unmeasured_allowed(share: float, tasks: int) -> int:
    """Return how many of a number of tasks may stay unmeasured: the share of them, rounded down."""
    return math.floor(exact(share) * tasks)


def _foreign(stage: str, wanted: type[ValueT], call: Callable[[], ValueT]) -> ValueT | Failure:
    """Call what a user's environment does. The declared seam to foreign code: whatever it raises is a failure."""
    try:
        value: object = call()
    except BaseException as error:  # noqa: BLE001 - foreign code on a thread of its own; it may not end the process
        place = place_of(error, short=True)
        words = f"{words_of(error)} ({place})" if place else words_of(error)
        return Failure("error", stage, type(error).__name__, words)
    if isinstance(value, wanted):
        return value
    return Failure("error", stage, "TypeError", f"{stage} returned {shape_of(value)}, which is no {wanted.__name__}")


def _own(task: Task) -> Task:
    """Return a copy for foreign code: what it does to a list inside must not reach the next task's score."""
    return replace(task, fields=copy.deepcopy(dict(task.fields)))


_MEASUREMENT_HINT = (
    "Nothing was decided on what could not be measured, and what was measured is kept: mend the cause and run the same "
    "command again. `evaluation.max_unmeasured` sets how much may be missing; the baseline needs every task."
)


def _too_few_measured(place: Place, failures: Sequence[Failure], *, total: int, most: int) -> MeasurementError:
    reasons = list(dict.fromkeys(f"{failure.kind} in {failure.stage}: {failure.message}" for failure in failures))
    shown = "; ".join(reasons[:3]) + (f"; and {len(reasons) - 3} more reasons" if len(reasons) > 3 else "")
    if place.stage == "check":  # One task, asked to find out the cause: there is nothing to count.
        return MeasurementError(f"{place.stage}: {shown}", hint="Mend the cause and run the same command again.")
    allowed = f"at most {most} may be missing" if most else "none may be missing"
    message = f"{place.stage}: {len(failures)} of {total} tasks could not be measured, {allowed} ({shown})"
    return MeasurementError(message, hint=_MEASUREMENT_HINT)
