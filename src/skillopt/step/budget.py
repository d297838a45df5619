"""Between aggregate and select: the edit budget of the step, where the schedule does not have the last word.

With `lr_control_mode: autonomous` the optimizer names it, from the merged edits, the rollouts' scores and its memory;
a reply that cannot be used leaves the scheduled one, and is counted. With `none`, all merged edits survive. Which edits
survive is for `select.py` to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from pydantic import BeforeValidator, Field

from skillopt.context import StageContext
from skillopt.events import StageStarted
from skillopt.learning_rate import bounded_budget
from skillopt.models.base import ReplySchema
from skillopt.models.structured import Reply
from skillopt.prompts import render
from skillopt.results import LearningRateDecision
from skillopt.state import State
from skillopt.step.replies import Text
from skillopt.step.showing import show_edits, show_memory, show_rejections, show_skill
from skillopt.types import Edit, Patch, Rollout


def _no_truth_value(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("a number of edits is needed, not true or false")
    return value


class BudgetReply(Reply):
    """How many edits one step may make."""

    reasoning: Text = ""
    """Why so many."""
    learning_rate: Annotated[int, BeforeValidator(_no_truth_value), Field(ge=0)]
    """So many; it is bounded before it counts."""

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        """A number with its reason."""
        return ReplySchema.of_object(
            "edit_budget", {"reasoning": {"type": "string"}, "learning_rate": {"type": "integer"}}
        )


async def set_budget(
    run: StageContext, state: State, merged: Patch, rollouts: Sequence[Rollout]
) -> tuple[State, LearningRateDecision | None]:
    """Return the state with the budget that selection goes by, and the optimizer's decision where it made one.

    Nobody is asked where no edit came through, or where the schedule says 0: then nothing is applied.
    """
    control, edits = run.config.optimizer.budget_control, merged.edits
    if control == "fixed" or not edits or not state.budget:
        return state, None
    if control == "none":
        return replace(state, budget=len(edits)), None
    run.emit(StageStarted("budget", state.epoch, state.step))
    reply = await _ask(run, state, edits, rollouts)
    if reply is None:
        run.count("budget_fallbacks")
    budget = state.budget if reply is None else _bounded(run, reply.learning_rate, edits)
    decision = LearningRateDecision(
        budget=budget,
        proposed=None if reply is None else reply.learning_rate,
        scheduled=state.budget,
        available=len(edits),
        reasoning="" if reply is None else reply.reasoning,
    )
    return replace(state, budget=budget), decision


async def _ask(
    run: StageContext, state: State, edits: Sequence[Edit], rollouts: Sequence[Rollout]
) -> BudgetReply | None:
    messages = render(
        "edit_budget",
        purpose=run.environment.purpose,
        most=str(_bounded(run, len(edits), edits)),
        skill=show_skill(state),
        scores=_scores(rollouts),
        rejections=show_rejections(state),
        memory=show_memory(state),
        edits=show_edits(edits),
    )
    return (await run.ask(messages, state.place("budget"), BudgetReply, may_fall_back=True)).value


def _bounded(run: StageContext, proposed: int, edits: Sequence[Edit]) -> int:
    return bounded_budget(proposed, available=len(edits), learning_rate=run.config.optimizer.learning_rate)


def _scores(rollouts: Sequence[Rollout]) -> str:
    """Say in words how the batch went."""
    scores = [rollout.score for rollout in rollouts if rollout.score is not None]
    if not scores:
        return "no task could be measured"
    solved, credit = sum(score.hard for score in scores), sum(score.soft for score in scores) / len(scores)
    return f"{solved} of {len(scores)} solved; mean partial credit {credit:.2f}"
