"""When a training ends before its last step: nothing can be higher any more, or nothing has been for long enough."""

from __future__ import annotations

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.evaluation.scores import gate_score
from skillopt.state import Measured, State


def saturated(measured: Measured, evaluation: EvaluationSettings) -> bool:
    """Whether no candidate can be strictly higher than a skill, and being higher is what the gate asks for.

    The highest score is 1 by each metric and over any number of passes: every rollout has full credit. A rule of the
    user's own may accept a tie, and without a gate everything is accepted, so neither is ever saturated.
    """
    if not evaluation.use_gate or evaluation.acceptance is not None:
        return False
    return gate_score(measured.rollouts, evaluation) == 1


def stop_reason(state: State, evaluation: EvaluationSettings) -> str:
    """Return why training does not go on from a state, in words; "" where it does."""
    if saturated(state.current, evaluation):
        return "the current skill has the highest possible score on the selection split"
    waited = state.step - state.current.step - state.deferred
    if evaluation.patience and waited >= evaluation.patience:
        steps = "step" if waited == 1 else "steps in a row"
        return f"{waited} {steps} without an accepted candidate (evaluation.patience)"
    return ""
