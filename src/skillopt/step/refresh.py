"""Ahead of a step: after several rejections in a row, the current skill is measured once more.

The bar that nothing gets over may be a lucky draw of the current skill. A fresh pass is averaged into it: the bar is
then the mean of all passes, and no pass is thrown away. Which skill is the best is looked up anew, since scores have
changed; nothing else is decided here.
"""

from __future__ import annotations

from dataclasses import replace

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.context import StageContext
from skillopt.evaluation.scores import gate_score
from skillopt.events import StageStarted
from skillopt.state import Measured, State
from skillopt.step.passes import latest_of, measure_passes
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
    state = state.refresh(await measure_passes(run, state.current.skill, [state.current.next_repeat], place))
    return replace(state, best=highest(state, run.config.evaluation))


def highest(state: State, evaluation: EvaluationSettings) -> Measured:
    """Return the skill with the highest gate score among the seed and all that were accepted.

    What the gate rejected is not among them, however high it scored: it may have failed a requirement, and what lost to
    a bar that is lower now is judged against the new one when it is proposed again. Of equal scores the present best
    comes first, then the earliest skill.
    """
    accepted = (measured for measured in state.tried if measured.accepted)
    field = latest_of((state.best, state.seed, *accepted, state.current))
    return max(field, key=lambda measured: gate_score(measured.rollouts, evaluation))
