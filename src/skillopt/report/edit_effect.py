"""What one edit of a step did to the skill: the difference that it made, behind the edits that went in ahead of it.

It plays the edit again by the rules of `skill/edits.py` and decides nothing; how the edit ended is in the run's files.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from skillopt.errors import SkillError
from skillopt.report.stored_rows import EditOutcomeRow
from skillopt.report.text_diff import DiffLine, diff
from skillopt.skill.document import Skill
from skillopt.skill.edits import apply_edits
from skillopt.types import Edit, EditOperation


def edit_effect(skill: str, edits: Sequence[EditOutcomeRow], number: int) -> tuple[DiffLine, ...]:
    """Return what an edit changes, or would have changed had it not been left out.

    Args:
        skill: The skill that the step worked on.
        edits: The edits of the step, in their order.
        number: The edit's, from 0.

    Returns:
        The difference; nothing where the edit finds no one place, or the skill is not one.
    """
    try:
        before = Skill.parse(skill)
        ahead = [_edit(row) for row in edits[:number] if row.status == "applied"]
        before = apply_edits(before, ahead, max_tokens=sys.maxsize).skill
        after = apply_edits(before, [_edit(edits[number])], max_tokens=sys.maxsize).skill
    except (SkillError, ValueError):  # a file that was changed by hand, or an operation that is none
        return ()
    return diff(before.text, after.text)


def _edit(row: EditOutcomeRow) -> Edit:
    return Edit(EditOperation(row.op), row.target, row.content)
