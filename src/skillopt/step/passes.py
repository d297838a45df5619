"""Measuring a skill in passes: several rollouts of the same task, each a draw of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.context import StageContext
from skillopt.evaluation.repeats import by_task
from skillopt.evaluation.scores import require_criteria
from skillopt.skill.document import Skill
from skillopt.state import Measured
from skillopt.types import Place, Rollout, Task


async def measure_passes(run: StageContext, skill: Skill, repeats: Iterable[int], place: Place) -> tuple[Rollout, ...]:
    """Measure a skill on the whole selection split once for each repeat number; none may stay unmeasured.

    Returns:
        Pass by pass, each in the order of the split.

    Raises:
        MeasurementError: If a task could not be measured.
    """
    draws = [(task, repeat) for repeat, task in product(repeats, run.selection)]
    return await measure_draws(run, skill, draws, place, most_unmeasured=0)


async def measure_draws(
    run: StageContext, skill: Skill, draws: Sequence[tuple[Task, int]], place: Place, *, most_unmeasured: int
) -> tuple[Rollout, ...]:
    """Measure a skill on tasks with repeat numbers, those of one number side by side.

    Returns:
        A rollout for each draw: by repeat number, and within one in the order of the draws.

    Raises:
        MeasurementError: As soon as more of the draws are unmeasured than may be.
        EnvironmentLoadError: If a score lacks a criterion that the gate is to decide on or to guard.
    """
    rollouts: list[Rollout] = []
    named = run.config.evaluation.criteria
    for repeat in sorted({repeat for _, repeat in draws}):
        tasks = [task for task, own in draws if own == repeat]
        missing = sum(not rollout.measured for rollout in rollouts)
        rollouts += await run.measure(skill, tasks, place, repeat=repeat, most_unmeasured=most_unmeasured - missing)
    for rollout in rollouts:
        if rollout.score is not None:
            require_criteria(rollout.score, named, where=f"{place.stage}: task {rollout.task.id}: ")
    return tuple(rollouts)


def latest_of(measured: Iterable[Measured]) -> tuple[Measured, ...]:
    """Return each skill once, in order of first appearance, with its latest passes: earlier ones may have been luck."""
    known: dict[str, Measured] = {}
    for one in measured:
        before = known.get(one.skill.digest)
        if before is None or one.next_repeat > before.next_repeat:
            known[one.skill.digest] = one
    return tuple(known.values())


def draws_needed(current: Measured, evaluation: EvaluationSettings) -> int:
    """Rollouts of a candidate on the whole selection split; the current skill may have more (`evaluation.refresh`)."""
    return evaluation.repeats * len(by_task(current.rollouts))
