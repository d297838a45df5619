"""Stage 1, the forward pass: the target does a batch of training tasks with the current skill."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.context import StageContext
from skillopt.events import StageStarted
from skillopt.state import State
from skillopt.types import Place, Rollout, Task


async def rollout(run: StageContext, state: State, batch: Sequence[Task]) -> tuple[Rollout, ...]:
    """Roll out the step's skill on the batch; a task that could not be measured keeps its reason and has no score."""
    run.emit(StageStarted("rollout", state.epoch, state.step, len(batch)))
    return await run.measure(state.skill, batch, Place("rollout", state.epoch, state.step))
