"""What the simulated optimizer says where it rewrites the whole skill, or names an edit budget.

A rewrite is the skill that the prompt shows with edits made in it: those that the prompt suggests, or those it would
have proposed itself. Like a real model's, it is a copy of all it was shown, front matter and protected sections too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from skillopt.simulation.reading import ShownEdit
from skillopt.simulation.records import plain
from skillopt.simulation.world import World
from skillopt.skill.document import Skill
from skillopt.skill.edits import apply_edits
from skillopt.types import Edit, EditOperation, JsonValue

_SKILL = re.compile(r"<skill>\n(.*?)\n</skill>", re.DOTALL)
_EMPTY = "(the skill is still empty)"
_NO_LIMIT = 10**9


def rewritten(text: str, edits: Sequence[Mapping[str, JsonValue]]) -> dict[str, JsonValue]:
    """Return a rewrite reply: the skill that a prompt shows, with edits made where their targets stand."""
    found = _SKILL.search(text)
    shown = found[1] if found and found[1] != _EMPTY else ""
    made = apply_edits(Skill(shown), [_edit(edit) for edit in edits], max_tokens=_NO_LIMIT)
    summary: list[JsonValue] = [f"{edit['op']}: {edit.get('content') or edit.get('target')}" for edit in edits]
    return {"reasoning": "All in one text (simulated).", "change_summary": summary, "new_skill": made.skill.text}


def named_budget(world: World, edits: Sequence[ShownEdit]) -> dict[str, JsonValue]:
    """Return a budget reply: as many edits as state a rule or remove a harmful sentence."""
    sound = sum(_is_sound(world, edit) for edit in edits)
    return {"reasoning": f"{sound} of {len(edits)} edits state or clear a rule (simulated).", "learning_rate": sound}


def _is_sound(world: World, edit: ShownEdit) -> bool:
    content = plain(edit.content)
    if edit.operation == "delete":
        return any(sentence in edit.target for sentence in world.harmful)
    return any(rule.sentence in content for rule in world.rules)


def _edit(fields: Mapping[str, JsonValue]) -> Edit:
    return Edit(EditOperation(str(fields["op"])), str(fields.get("target") or ""), str(fields.get("content") or ""))
