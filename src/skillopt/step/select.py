"""Stage 4, the clipped step: at most as many edits survive as the learning rate of this step allows.

The optimizer is asked to rank only where more edits came in than may survive. What it selects is obeyed, an empty
selection too; a reply that cannot be used falls back to the edits with the most support, failures first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillopt.context import StageContext
from skillopt.events import StageStarted
from skillopt.prompts import render
from skillopt.results import Selected
from skillopt.state import State
from skillopt.step.replies import RankingReply
from skillopt.step.showing import show_edits, show_memory, show_rejections, show_skill
from skillopt.types import Edit, EditOutcome, EditState, Patch


async def select(run: StageContext, state: State, merged: Patch) -> Selected:
    """Return the edits that survive, at most `state.budget`."""
    run.emit(StageStarted("select", state.epoch, state.step))
    edits = merged.edits
    if len(edits) <= state.budget:
        return Selected(edits, rewrites=merged.rewrites)
    reply = await _ask(run, state, edits) if state.budget else RankingReply(selected_indices=[])
    if reply is None:
        run.count("select_fallbacks")
        chosen, reasoning = by_support(edits)[: state.budget], ""
    else:
        chosen, reasoning = valid_indices(reply.selected_indices, len(edits))[: state.budget], reply.reasoning
    detail = f"not among the {len(chosen)} that were selected of {len(edits)}; at most {state.budget} a step"
    over_budget = tuple(
        EditOutcome(edit, EditState.OVER_BUDGET, detail) for number, edit in enumerate(edits) if number not in chosen
    )
    return Selected(tuple(edits[number] for number in chosen), over_budget, reasoning)


async def _ask(run: StageContext, state: State, edits: Sequence[Edit]) -> RankingReply | None:
    messages = render(
        "select",
        purpose=run.environment.purpose,
        skill=show_skill(state),
        budget=str(state.budget),
        rejections=show_rejections(state),
        memory=show_memory(state),
        edits=show_edits(edits),
    )
    answer = await run.ask(messages, state.place("select"), RankingReply, may_fall_back=True)
    reply = answer.value
    if reply is not None and reply.selected_indices and not valid_indices(reply.selected_indices, len(edits)):
        return None  # A ranking that names no edit at all is a misunderstanding; an empty one is a choice.
    return reply


def valid_indices(indices: Sequence[Any], count: int) -> tuple[int, ...]:
    """Return the indices that are whole numbers from 0 below `count`, each once, in the given order."""
    return tuple(dict.fromkeys(index for index in indices if type(index) is int and 0 <= index < count))


def by_support(edits: Sequence[Edit]) -> tuple[int, ...]:
    """Return the edits' numbers: from failures first, then by support, then as they came."""
    return tuple(
        sorted(range(len(edits)), key=lambda n: (edits[n].source_type != "failure", -edits[n].support_count, n))
    )
