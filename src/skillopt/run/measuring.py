"""The evaluator of a run: the same for training and for `skillopt eval`."""

from __future__ import annotations

from skillopt.evaluation.runner import Evaluator, Observer, RolloutStore
from skillopt.harness.chat import ChatHarness
from skillopt.run.models import Models
from skillopt.run.setup import Setup


def open_evaluator(
    setup: Setup, models: Models, store: RolloutStore, *, observer: Observer, part_of_a_run: bool
) -> Evaluator:
    """Return what measures skills on tasks with the target of the configuration.

    Args:
        setup: Settings and environment.
        models: Both models.
        store: Evidence of earlier rollouts.
        observer: Told of every rollout.
        part_of_a_run: In a run too many unmeasured tasks end it, and which ones it went on without is recorded, so that
            a replay does the same. By itself an evaluation reports what it could measure and tries the rest again.
    """
    config = setup.config
    return Evaluator(
        setup.environment,
        ChatHarness(models.target),
        store,
        workers=config.env.workers,
        deadline=config.env.exec_timeout,
        max_unmeasured=config.evaluation.max_unmeasured if part_of_a_run else 1.0,
        remember_failures=part_of_a_run,
        observer=observer,
    )
