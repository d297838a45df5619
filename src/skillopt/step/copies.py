"""What becomes of new text that copies training tasks: allowed, flagged or refused, as `skill.memorising` says.

Finding copies is `skill/memorising.py`'s part. Only training tasks are looked through: no others ever reach the
optimizer, so it cannot copy them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import replace

from skillopt.context import StageContext
from skillopt.skill.document import Skill
from skillopt.skill.memorising import find_copies
from skillopt.state import State
from skillopt.step.replies import shown
from skillopt.types import Copy, Discarded, Edit, EditState, Patch
from skillopt.wording import counted

_SHOWN_CHARACTERS = 200
_MEMORY_WORDS = 8
"""Words from which a line of the memory is told from words that any rule may have."""


def copies_of_tasks(run: StageContext, skill: Skill, texts: Sequence[str]) -> tuple[tuple[Copy, ...], ...]:
    """Return for each new text what it copies from training tasks; what stands in the skill is not new.

    With `skill.memorising: allow` nobody looks.
    """
    settings = run.config.skill
    if settings.memorising == "allow" or not texts:
        return ((),) * len(texts)
    return find_copies(texts, known=skill.text, tasks=run.training, words=settings.memorising_ngram)


def refuse_copies(run: StageContext, state: State, patch: Patch) -> Patch:
    """Return a patch without the edits that copy training tasks, where the configuration refuses them.

    They end as discarded, ahead of selection, so that they take no part of the step's budget. So do edits that would
    carry the optimizer's memory into the skill, whatever is configured.
    """
    patch = _without(patch, [memory_in(state, edit.content) for edit in patch.edits])
    if run.config.skill.memorising != "refuse":
        return patch
    found = copies_of_tasks(run, state.skill, [edit.content for edit in patch.edits])
    return _without(patch, [said(copies) if copies else "" for copies in found], found)


def memory_in(state: State, text: str) -> str:
    """Return why a text may not ship, in words, where it holds a line of the optimizer's memory; else "".

    The memory is for the optimizer alone. Short lines, and those that the skill has already, are no sign of it.
    """
    said, known = _words(text), _words(state.skill.text)
    for line in map(_words, state.memory.splitlines()):
        if line.count(" ") >= _MEMORY_WORDS - 1 and line in said and line not in known:
            return f'it holds a line of your own notes, which are not for the skill: "{line[:_SHOWN_CHARACTERS]}"'
    return ""


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFC", text).casefold()))


def refused_for(run: StageContext, skill: Skill, text: str) -> str:
    """Return why a text is refused, in words; "" where it copies no training task or copies are not refused."""
    if run.config.skill.memorising != "refuse":
        return ""
    (copies,) = copies_of_tasks(run, skill, [text])
    return said(copies) if copies else ""


def said(copies: Sequence[Copy]) -> str:
    """Return which tasks a text copies, in words."""
    passage, more = copies[0].text, len(copies) - 1
    quoted = f"{passage[:_SHOWN_CHARACTERS]}..." if len(passage) > _SHOWN_CHARACTERS else passage
    others = f", and {counted(more, 'more passage')}" if more else ""
    return f'it copies "{quoted}" from the training task {copies[0].task_id}{others}'


def _without(patch: Patch, reasons: Sequence[str], found: Sequence[tuple[Copy, ...]] = ()) -> Patch:
    """Return a patch without the edits that there is a reason against; they are kept as discarded, with it."""
    if not any(reasons):
        return patch
    copies = found or [()] * len(reasons)
    rows = list(zip(patch.edits, reasons, copies, strict=True))
    refused = tuple(Discarded(_entry(edit), EditState.MEMORISED, why, own) for edit, why, own in rows if why)
    kept = tuple(edit for edit, why, _ in rows if not why)
    return replace(patch, edits=kept, discarded=patch.discarded + refused)


def _entry(edit: Edit) -> str:
    return shown({"op": edit.operation.value, "target": edit.target, "content": edit.content})
