"""Looking back: the skill of the previous epoch's end and the current one on the same training tasks.

Slow update and meta skill read the same comparison. Selection and test tasks are never part of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.context import StageContext
from skillopt.evaluation.runner import unmeasured_allowed
from skillopt.evaluation.scores import gate_value
from skillopt.events import StageStarted
from skillopt.skill.document import Skill
from skillopt.state import State
from skillopt.types import Comparison, Pair, PairCategory, Place, Rollout, Task

_PREVIOUS, _CURRENT = 0, 1


async def compare(run: StageContext, state: State, stage: str) -> Comparison:
    """Run both skills on sampled training tasks and pair what they did.

    The sample is drawn by name, so it does not depend on who asks. With `longitudinal_pair_policy: changed` further
    training tasks are looked through, in the order of the draw, until enough scores changed or none is left.

    Args:
        run: The run.
        state: At the end of an epoch; `state.previous` is the other skill.
        stage: On whose account the rollouts go: `slow_update` or `meta_skill`.

    Raises:
        MeasurementError: If more tasks could not be measured than `evaluation.max_unmeasured` allows.
    """
    optimizer = run.config.optimizer
    tasks = list(run.training)
    run.random("slow_update.sample", state.epoch).shuffle(tasks)
    wanted = min(optimizer.slow_update_samples, len(tasks))
    reached = wanted
    comparison = await _measure_both(run, state, stage, tasks[:reached])
    while optimizer.longitudinal_pair_policy == "changed" and len(comparison.shown) < wanted and reached < len(tasks):
        reached = min(len(tasks), reached + wanted - len(comparison.shown))
        comparison = await _measure_both(run, state, stage, tasks[:reached], before=comparison)
    return comparison


async def _measure_both(
    run: StageContext, state: State, stage: str, tasks: Sequence[Task], *, before: Comparison | None = None
) -> Comparison:
    """Measure both skills on those of the tasks that no earlier comparison holds."""
    new = tasks[len(before.current) if before else 0 :]
    run.emit(StageStarted(stage, state.epoch, state.step, 2 * len(new)))

    async def measured(skill: Skill, index: int, earlier: tuple[Rollout, ...]) -> tuple[Rollout, ...]:
        place = Place(stage, state.epoch, state.step, index)
        missing = sum(not rollout.measured for rollout in earlier)
        may_miss = unmeasured_allowed(run.config.evaluation.max_unmeasured, len(tasks)) - missing
        return earlier + await run.measure(skill, new, place, most_unmeasured=may_miss)

    # One after the other: each of them keeps the target busy by itself.
    previous = await measured(state.previous, _PREVIOUS, before.previous if before else ())
    current = await measured(state.current.skill, _CURRENT, before.current if before else ())
    pairs = pair_up(previous, current, run.config.evaluation)
    return Comparison(run.config.optimizer.longitudinal_pair_policy, previous, current, pairs)


def pair_up(
    previous: Sequence[Rollout], current: Sequence[Rollout], evaluation: EvaluationSettings
) -> tuple[Pair, ...]:
    """Pair rollouts of the same tasks by what became of their scores, by the gate's metric.

    Args:
        previous: What one skill did.
        current: What the other did on the same tasks, in the same order.
        evaluation: The metric: `gate_metric`, `gate_mixed_weight`.

    Returns:
        A pair for each task that was measured with both. A higher score is improved, a lower one regressed; of equal
        ones a solved task is a stable success, any other a persistent failure.
    """
    pairs: list[Pair] = []
    for before, after in zip(previous, current, strict=True):
        assert before.task.id == after.task.id, f"{before.task.id} and {after.task.id} are no pair"
        if before.score is None or after.score is None:
            continue
        first, second = (
            gate_value(score, evaluation.compared, weight=evaluation.gate_mixed_weight)
            for score in (before.score, after.score)
        )
        if first != second:
            category = PairCategory.IMPROVED if second > first else PairCategory.REGRESSED
        else:
            category = PairCategory.STABLE_SUCCESS if after.score.hard else PairCategory.PERSISTENT_FAIL
        pairs.append(Pair(before, after, category))
    return tuple(pairs)
