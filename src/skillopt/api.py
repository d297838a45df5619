"""Training and evaluation from Python: what the commands do, without a terminal."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from skillopt.config.load import LoadedConfig, load_config
from skillopt.errors import Interrupted, LimitReached, MeasurementError, ModelError, SkillOptError
from skillopt.evaluation.runner import Evaluator, Observer
from skillopt.evaluation.scores import gate_value
from skillopt.evaluation.statistics import PairedDifference, paired_difference
from skillopt.interruption import interruptible
from skillopt.models.meter import Spending
from skillopt.models.prices import Prices
from skillopt.models.retry import Retry
from skillopt.report.illustrator import Illustrator
from skillopt.run.accounts import Accounts
from skillopt.run.event_log import Subscriber
from skillopt.run.forking import fork_of
from skillopt.run.measuring import open_evaluator
from skillopt.run.models import OnRetry, open_models
from skillopt.run.opening import open_run, opened_evidence, run_directory
from skillopt.run.outcome import EndState, Outcome
from skillopt.run.run import Run
from skillopt.run.setup import Setup, prepare
from skillopt.skill.document import Skill
from skillopt.trackers.watcher import Trackers
from skillopt.trainer import train as train_run
from skillopt.types import Place, Role, Rollout, SplitName, Task


async def train(
    config: str | Path | LoadedConfig,
    overrides: Sequence[str] = (),
    *,
    fork: str | Path | None = None,
    subscribers: Sequence[Subscriber] = (),
    environment: Mapping[str, str] = os.environ,
) -> Outcome:
    """Train a skill as a configuration says.

    Cancelling it leaves a run that goes on with the next call; so does an end that is asked for in order
    (`skillopt.interruption`).

    Args:
        config: A configuration file, or one that is loaded.
        overrides: Texts of the form `section.key=value`, for a file.
        fork: A new directory, or that of the same fork going on: the run is kept there, and shares what the run in
            `env.out_root` has paid for as far as it still fits.
        subscribers: Told of every event.
        environment: Where keys are looked up.

    Returns:
        How it ended, also where a provider failed, a limit was reached or an end was asked for after the baseline was
        measured.

    Raises:
        MissingDependencyError: If a tracker is chosen whose library is not installed.
        SkillOptError: If it could not begin, or the baseline could not be measured.
    """
    loaded = config if isinstance(config, LoadedConfig) else load_config(config, overrides)
    setup = prepare(loaded)
    forked = None if fork is None else fork_of(setup.config.env, fork)
    directory = run_directory(setup) if forked is None else forked.directory
    illustrator = Illustrator(directory)
    # Ahead of the others, so that those who are told of the end find the picture.
    watching = [illustrator, *subscribers] if setup.config.report.picture else subscribers
    trackers = Trackers(setup.config, directory, environment=environment)
    opening = open_run(
        setup, directory=directory, fork=forked, subscribers=[*watching, trackers], environment=environment
    )
    async with interruptible(), opening as run, trackers.watching(run.warn):
        outcome = await _train_or_stop(run)
        if illustrator.problem:
            with suppress(SkillOptError):  # The log cannot be written either, and the end is on disk.
                run.warn(illustrator.problem)
        return replace(outcome, picture=illustrator.picture)


async def _train_or_stop(run: Run) -> Outcome:
    """Train; a failure, a limit or an interruption after the baseline is an end in order."""
    try:
        async with interruptible(told=run.warn):
            return await train_run(run)
    except (ModelError, MeasurementError, LimitReached, Interrupted) as error:
        outcome = run.stop(_EARLY_ENDS.get(type(error), EndState.PROVIDER_FAILED), error)
        if outcome is None:
            raise
        return outcome


_EARLY_ENDS: Mapping[type[SkillOptError], EndState] = {
    LimitReached: EndState.LIMIT_REACHED,
    Interrupted: EndState.INTERRUPTED,
}
"""The end states of what stops a training ahead of its last step; of all else a provider is the cause."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Skills measured on the same tasks.

    Attributes:
        rollouts: For each skill one rollout a task, in the order of the tasks.
        differences: For each skill after the first, how it compares with the first on the tasks that both were measured
            on, by `evaluation.compared`; None where there are none.
        spent: What was paid for it by this process.
    """

    rollouts: tuple[tuple[Rollout, ...], ...]
    differences: tuple[PairedDifference | None, ...]
    spent: Spending


def split_tasks(setup: Setup, split: SplitName | Literal["all"]) -> tuple[Task, ...]:
    """Return the tasks of a split, or of all three."""
    names: tuple[SplitName, ...] = ("train", "val", "test") if split == "all" else (split,)
    return tuple(task for name in names for task in setup.splits[name])


def _look_on(place: Place, key: str, rollout: Rollout, *, recorded: bool) -> None:
    """Take no note of a rollout."""


def _let_be(role: Role, retry: Retry) -> None:
    """Take no note of a retry."""


async def evaluate(
    setup: Setup,
    skills: Sequence[Skill],
    tasks: Sequence[Task],
    *,
    directory: Path,
    observer: Observer = _look_on,
    on_retry: OnRetry = _let_be,
    environment: Mapping[str, str] = os.environ,
) -> Evaluation:
    """Measure skills on the same tasks, one skill after the other; evidence in the directory answers first.

    A task that could not be measured says why and has no score; it takes part in no comparison. The optimizer is not
    opened, so its key is not needed.

    Args:
        setup: Settings and environment, from `skillopt.run.setup.prepare`.
        skills: At least one.
        tasks: The tasks.
        directory: Where the evidence is kept; made where missing. Any number of evaluations may share it, one at
            a time.
        observer: Told of every rollout, in the order of completion.
        on_retry: Told of every attempt that failed and will be followed by another.
        environment: Where keys are looked up.

    Raises:
        SkillOptError: If the target can never answer, or the directory cannot be used.
    """
    opened = _evaluator(setup, directory, "eval", observer=observer, on_retry=on_retry, environment=environment)
    async with opened as (evaluator, accounts):
        rollouts = tuple([await evaluator.measure(skill, tasks, Place("eval")) for skill in skills])
    differences = tuple(_difference(setup, rollouts[0], other) for other in rollouts[1:])
    return Evaluation(rollouts, differences, accounts.paid.total())


async def repeat_seed(
    setup: Setup,
    *,
    passes: int,
    directory: Path,
    observer: Observer = _look_on,
    on_retry: OnRetry = _let_be,
    environment: Mapping[str, str] = os.environ,
) -> tuple[tuple[Rollout, ...], ...]:
    """Measure the seed skill on the selection split several times; evidence in the directory answers first.

    The optimizer is not opened, so its key is not needed.

    Args:
        setup: Settings and environment, from `skillopt.run.setup.prepare`.
        passes: How many times. The first ones are those that a training's baseline takes.
        directory: Where the evidence is kept; made where missing.
        observer: Told of every rollout, in the order of completion.
        on_retry: Told of every attempt that failed and will be followed by another.
        environment: Where keys are looked up.

    Returns:
        For each pass one rollout a task, in the order of the split.

    Raises:
        SkillOptError: If the target can never answer, or the directory cannot be used.
    """
    opened = _evaluator(setup, directory, "noise", observer=observer, on_retry=on_retry, environment=environment)
    async with opened as (evaluator, _):
        return tuple(
            [
                await evaluator.measure(setup.seed_skill, setup.splits.val, Place("eval"), repeat=number)
                for number in range(passes)
            ]
        )


@asynccontextmanager
async def _evaluator(
    setup: Setup,
    directory: Path,
    command: str,
    *,
    observer: Observer,
    on_retry: OnRetry,
    environment: Mapping[str, str],
) -> AsyncGenerator[tuple[Evaluator, Accounts]]:
    """Open the evaluator of a directory's evidence, outside of a run."""
    with opened_evidence(directory, command=command) as evidence:
        accounts = Accounts(Prices(setup.config.model, on=datetime.now(UTC).date()), evidence, goes_on=False)
        opening = open_models(setup.config, accounts, environment=environment, on_retry=on_retry, roles=("target",))
        async with interruptible(), opening as models:
            yield open_evaluator(setup, models, evidence, observer=observer, part_of_a_run=False), accounts


def _difference(setup: Setup, first: Sequence[Rollout], second: Sequence[Rollout]) -> PairedDifference | None:
    evaluation = setup.config.evaluation
    pairs = [(one.score, two.score) for one, two in zip(first, second, strict=True) if one.score and two.score]
    if not pairs:
        return None
    metric, weight = evaluation.compared, evaluation.gate_mixed_weight
    return paired_difference(
        [gate_value(one, metric, weight=weight) for one, _ in pairs],
        [gate_value(two, metric, weight=weight) for _, two in pairs],
    )
