"""Ahead of a step: after several rejections in a row, the current skill is measured once more.

The bar that nothing gets over may be a lucky draw of the current skill. A fresh pass is averaged into it: the bar is
then the mean of all passes, and no pass is thrown away. Nothing is decided here.
"""

from __future__ import annotations

from skillopt.context import StageContext
from skillopt.events import StageStarted
from skillopt.state import State
from skillopt.step.passes import measure_passes
from skillopt.types import Place


async def refresh(run: StageContext, state: State) -> State:
    """Return the state with a fresh pass of the current skill, where `evaluation.refresh` asks for one.

    Raises:
        MeasurementError: If a selection task could not be measured.
    """
    patience = run.config.evaluation.refresh
    if not patience or state.rejected < patience:
        return state
    run.emit(StageStarted("refresh", state.epoch, state.step, len(run.selection)))
    place = Place("refresh", state.epoch, state.step)
    return state.refresh(await measure_passes(run, state.current.skill, [state.current.next_repeat], place))
