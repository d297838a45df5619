"""Stage 5: the survivors are applied, or the skill is rewritten (`rewrite.py`), and the candidate is there.

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
from skillopt.step.copies import copies_of_tasks, memory_in, refused_for
from skillopt.step.limits import show_limits
from skillopt.step.replies import EditsReply, edits_schema, read_edits
from skillopt.step.rewrite import update_by_first_rewrite, update_from_suggestions
from skillopt.step.showing import show_edits, show_memory, show_skill
from skillopt.types import Edit, EditOutcome, EditState

_MENDABLE = (EditState.UNMATCHED, EditState.AMBIGUOUS)


async def update(run: StageContext, state: State, selected: Selected) -> Candidate:
    """Return the candidate that `optimizer.skill_update_mode` makes of what was selected."""
    run.emit(StageStarted("update", state.epoch, state.step))
    match run.config.optimizer.skill_update_mode:
        case "patch":
            return await _update_by_edits(run, state, selected)
        case "rewrite_from_suggestions":
            return await update_from_suggestions(run, state, selected)
        case "full_rewrite_minibatch":
            return update_by_first_rewrite(run, state, selected)


async def _update_by_edits(run: StageContext, state: State, selected: Selected) -> Candidate:
    """Apply the selected edits to the current skill; unmatched and ambiguous ones get one repair request."""
    skill, most = state.skill, run.config.skill.max_tokens
    result = apply_edits(skill, selected.edits, max_tokens=most)
    mendable = [number for number, outcome in enumerate(result.outcomes) if outcome.state in _MENDABLE]
    if not mendable:
        return Candidate(result.skill, _with_copies(run, skill, result.outcomes), result.changed)
    mended = await _repair(run, state, [result.outcomes[number] for number in mendable])
    edits = list(selected.edits)
    for number, edit in zip(mendable, mended, strict=True):
        edits[number] = edit or edits[number]
    result = apply_edits(skill, edits, max_tokens=most)
    outcomes = tuple(
        replace(outcome, repaired=outcome.state is EditState.APPLIED and number in mendable)
        for number, outcome in enumerate(result.outcomes)
    )
    return Candidate(result.skill, _with_copies(run, skill, outcomes), result.changed)


def _with_copies(run: StageContext, skill: Skill, outcomes: Sequence[EditOutcome]) -> tuple[EditOutcome, ...]:
    """Return the outcomes with what each edit copies from training tasks."""
    copies = copies_of_tasks(run, skill, [outcome.edit.content for outcome in outcomes])
    return tuple(replace(outcome, copies=own) for outcome, own in zip(outcomes, copies, strict=True))


async def _repair(run: StageContext, state: State, outcomes: Sequence[EditOutcome]) -> tuple[Edit | None, ...]:
    """Ask once for better targets; an edit without a mended form stays as it is (None)."""
    messages = render(
        "update_repair",
        skill=show_skill(state),
        limits=show_limits(run, state),
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
    return tuple(_mended(run, state, entry, outcome.edit) for entry, outcome in zip(entries, outcomes, strict=True))


def _mended(run: StageContext, state: State, entry: object, edit: Edit) -> Edit | None:
    """Return the edit with the mended operation, target and content; what stands behind it stays."""
    read, _ = read_edits([entry], source_type=edit.source_type, task_ids=edit.task_ids)
    if not read:
        return None
    if memory_in(state, read[0].content) or refused_for(run, state.skill, read[0].content):
        run.count("memorised_repairs")
        return None
    return replace(edit, operation=read[0].operation, target=read[0].target, content=read[0].content or edit.content)


def _problem(skill: Skill, number: int, outcome: EditOutcome) -> str:
    lines = "\n".join(f"  line {line}: {text}" for line, text in nearest_lines(skill, outcome.edit.target))
    return f"{number}. {outcome.state}: {outcome.detail}\n{lines}"
