"""With skill-aware reflection, the last part of stage 5: reminders go into the candidate's appendix.

Edits and reminders of a step are one candidate with one verdict of the gate, since both reach the target. What a note
may say is `skill/appendix.py`'s part. Where notes were added and there are more of them than
`optimizer.skill_aware_consolidate_threshold`, the optimizer is asked once to say the same in fewer; if what it says
does not shrink the appendix, or cannot be used, the notes stay as they are and the fall-back is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pydantic import Field

from skillopt.context import StageContext
from skillopt.events import StageStarted
from skillopt.models.base import ReplySchema
from skillopt.models.structured import Reply
from skillopt.prompts import render
from skillopt.results import Candidate
from skillopt.skill.appendix import MOST_NOTE_TOKENS, Refusal, add_note, normal_form, notes_of, replace_notes
from skillopt.skill.document import Skill
from skillopt.state import State
from skillopt.step.copies import copies_of_tasks, memory_in, refused_for, said
from skillopt.step.replies import Entries, Text
from skillopt.step.showing import show_text
from skillopt.types import Consolidation, EditState, Note, Patch


class ConsolidationReply(Reply):
    """The notes of an appendix in fewer words."""

    reasoning: Text = ""
    """What was put together, and why."""
    consolidated_notes: Entries = Field(default_factory=list)
    """Texts: all notes anew."""

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        """Reasoning and texts."""
        return ReplySchema.of_object(
            "consolidated_notes",
            {
                "reasoning": {"type": "string"},
                "consolidated_notes": {"type": "array", "items": {"type": "string"}},
            },
        )


async def remind(run: StageContext, state: State, patches: Sequence[Patch], candidate: Candidate) -> Candidate:
    """Return the candidate with the notes of its patches in the appendix; unchanged where there are none."""
    proposed = [note for patch in patches for note in patch.notes]
    if not proposed:
        return candidate
    skill, notes = _added(run, state, candidate.skill, proposed)
    consolidation = None
    threshold = run.config.optimizer.skill_aware_consolidate_threshold
    if skill.text != candidate.skill.text and 0 < threshold < len(notes_of(skill)):
        skill, consolidation = await _consolidate(run, state, skill)
    anew = consolidation is not None and consolidation.kept
    known = set[str]() if anew else {normal_form(note) for note in notes_of(state.skill)}
    new = [note for note in notes_of(skill) if normal_form(note) not in known]
    return replace(
        candidate,
        skill=skill,
        changed=skill.text != state.skill.text,
        notes=notes,
        reminders=tuple(Note(note, state=EditState.APPLIED) for note in new),
        consolidation=consolidation,
    )


def _added(run: StageContext, state: State, skill: Skill, proposed: Sequence[Note]) -> tuple[Skill, tuple[Note, ...]]:
    """Write the notes down one by one; each ends in one state."""
    ended: list[Note] = []
    for note in proposed:
        if note.state is not None:
            ended.append(note)
            continue
        memory = memory_in(state, note.text)
        if memory:
            ended.append(replace(note, state=EditState.MEMORISED, detail=memory))
            continue
        (copies,) = copies_of_tasks(run, state.skill, [note.text])
        note = replace(note, copies=copies)
        if copies and run.config.skill.memorising == "refuse":
            ended.append(replace(note, state=EditState.MEMORISED, detail=said(copies)))
            continue
        noted = add_note(skill, note.text, max_tokens=run.config.skill.max_tokens)
        if isinstance(noted, Refusal):
            ended.append(replace(note, state=noted.state, detail=noted.detail))
        else:
            skill = noted
            ended.append(replace(note, state=EditState.APPLIED))
    return skill, tuple(ended)


async def _consolidate(run: StageContext, state: State, skill: Skill) -> tuple[Skill, Consolidation]:
    """Ask once for fewer notes that say the same."""
    before = notes_of(skill)
    run.emit(StageStarted("appendix_consolidate", state.epoch, state.step))
    messages = render(
        "appendix_consolidate",
        purpose=run.environment.purpose,
        most_tokens=str(MOST_NOTE_TOKENS),
        count=str(len(before)),
        skill=show_text(skill),
        notes="\n".join(f"- {note}" for note in before),
    )
    answer = await run.ask(messages, state.place("appendix_consolidate"), ConsolidationReply, may_fall_back=True)
    shorter = _shorter(run, skill, answer.value)
    if isinstance(shorter, str):
        run.count("appendix_consolidate_fallbacks")
        return skill, Consolidation(before, before, f"the notes stay as they are: {shorter}")
    after = notes_of(shorter)
    return shorter, Consolidation(before, after, f"of {len(before)} notes it made {len(after)}")


def _shorter(run: StageContext, skill: Skill, reply: ConsolidationReply | None) -> Skill | str:
    """Return the skill with the notes of a reply, or why they do not take the place of its own."""
    if reply is None:
        return "the optimizer gave no reply"
    texts = [entry for entry in reply.consolidated_notes if isinstance(entry, str)]
    if len(texts) < len(reply.consolidated_notes):
        return "a note is a text"
    return refused_for(run, skill, "\n".join(texts)) or replace_notes(skill, texts)
