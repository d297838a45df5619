"""What becomes of new text that copies training tasks: allowed, flagged or refused, as `skill.memorising` says.

Finding copies is `skill/memorising.py`'s part. Only training tasks are looked through: no others ever reach the
optimizer, so it cannot copy them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from skillopt.context import StageContext
from skillopt.skill.document import Skill
from skillopt.skill.memorising import find_copies
from skillopt.step.replies import shown
from skillopt.types import Copy, Discarded, Edit, EditState, Patch

_SHOWN_CHARACTERS = 200


def copies_of_tasks(run: StageContext, skill: Skill, texts: Sequence[str]) -> tuple[tuple[Copy, ...], ...]:
    """Return for each new text what it copies from training tasks; what stands in the skill is not new.

    With `skill.memorising: allow` nobody looks.
    """
    settings = run.config.skill
    if settings.memorising == "allow" or not texts:
        return ((),) * len(texts)
    return find_copies(texts, known=skill.text, tasks=run.training, words=settings.memorising_ngram)


def refuse_copies(run: StageContext, skill: Skill, patch: Patch) -> Patch:
    """Return a patch without the edits that copy training tasks, where the configuration refuses them.

    They end as discarded, ahead of selection, so that they take no part of the step's budget.
    """
    if run.config.skill.memorising != "refuse":
        return patch
    found = copies_of_tasks(run, skill, [edit.content for edit in patch.edits])
    kept = tuple(edit for edit, copies in zip(patch.edits, found, strict=True) if not copies)
    refused = tuple(_refused(edit, copies) for edit, copies in zip(patch.edits, found, strict=True) if copies)
    return replace(patch, edits=kept, discarded=patch.discarded + refused)


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
    others = f", and {more} more passage{'s' if more > 1 else ''}" if more else ""
    return f'it copies "{quoted}" from the training task {copies[0].task_id}{others}'


def _refused(edit: Edit, copies: Sequence[Copy]) -> Discarded:
    entry = shown({"op": edit.operation.value, "target": edit.target, "content": edit.content})
    return Discarded(entry, EditState.MEMORISED, said(copies), tuple(copies))
