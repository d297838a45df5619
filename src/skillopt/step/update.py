"""Stage 5: the survivors are applied, and the candidate is there.

Edits whose target is not found, or found in several places, are shown to the optimizer once more with the nearest
lines of the skill. Nothing is ever applied somewhere else instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.context import StageContext
from skillopt.events import StageStarted
from skillopt.prompts import render
from skillopt.results import Candidate, Selected
from skillopt.skill.document import Skill
from skillopt.skill.edits import apply_edits, nearest_lines, target_lines
from skillopt.state import State
from skillopt.step.replies import EditsReply, edits_schema, read_edits
from skillopt.step.showing import show_edits, show_memory, show_skill
from skillopt.types import Edit, EditOutcome, EditState

_MENDABLE = (EditState.UNMATCHED, EditState.AMBIGUOUS)


async def update(run: StageContext, state: State, selected: Selected) -> Candidate:
    """Apply the selected edits to the current skill; unmatched and ambiguous ones get one repair request."""
    run.emit(StageStarted("update", state.epoch, state.step))
    skill, most = state.skill, run.config.skill.max_tokens
    result = apply_edits(skill, selected.edits, max_tokens=most)
    mendable = [number for number, outcome in enumerate(result.outcomes) if outcome.state in _MENDABLE]
    if not mendable:
        return Candidate(result.skill, result.outcomes, result.changed)
    mended = await _repair(run, state, [result.outcomes[number] for number in mendable])
    edits = list(selected.edits)
    for number, edit in zip(mendable, mended, strict=True):
        edits[number] = edit or edits[number]
    result = apply_edits(skill, edits, max_tokens=most)
    outcomes = tuple(
        replace(outcome, repaired=outcome.state is EditState.APPLIED and number in mendable)
        for number, outcome in enumerate(result.outcomes)
    )
    return Candidate(result.skill, outcomes, result.changed)


async def _repair(run: StageContext, state: State, outcomes: Sequence[EditOutcome]) -> tuple[Edit | None, ...]:
    """Ask once for better targets; an edit without a mended form stays as it is (None)."""
    messages = render(
        "update_repair",
        skill=show_skill(state),
        memory=show_memory(state),
        edits=show_edits([outcome.edit for outcome in outcomes]),
        problems="\n".join(_problem(state.skill, number, outcome) for number, outcome in enumerate(outcomes)),
    )
    place, form = state.place("update"), edits_schema(target_lines(state.skill))
    answer = await run.ask(messages, place, EditsReply, reply_schema=form, may_fall_back=True)
    entries = answer.value.edits if answer.value is not None else []
    if len(entries) != len(outcomes):
        run.count("dropped_repairs")
        return (None,) * len(outcomes)
    return tuple(_mended(entry, outcome.edit) for entry, outcome in zip(entries, outcomes, strict=True))


def _mended(entry: object, edit: Edit) -> Edit | None:
    """Return the edit with the mended operation, target and content; what stands behind it stays."""
    read, _ = read_edits([entry], source_type=edit.source_type, task_ids=edit.task_ids)
    if not read:
        return None
    return replace(edit, operation=read[0].operation, target=read[0].target, content=read[0].content or edit.content)


def _problem(skill: Skill, number: int, outcome: EditOutcome) -> str:
    lines = "\n".join(f"  line {line}: {text}" for line, text in nearest_lines(skill, outcome.edit.target))
    return f"{number}. {outcome.state}: {outcome.detail}\n{lines}"
