"""What the simulated optimizer says where it rewrites the whole skill, or names a budget."""

from __future__ import annotations

import pytest

from skillopt.simulation.reading import ShownEdit
from skillopt.simulation.rewriting import named_budget, rewritten
from skillopt.simulation.world import World
from skillopt.types import JsonValue

WORLD = World(7)
RULE = WORLD.rules[0].sentence


def test_a_rewrite_is_the_shown_skill_with_the_edits_made() -> None:
    edits: list[dict[str, JsonValue]] = [
        {"op": "append", "content": "- New."},
        {"op": "replace", "target": "- Old.", "content": "- Newer."},
        {"op": "delete", "target": "- Stands nowhere."},
    ]
    reply = rewritten("Words.\n<skill>\n---\nname: s\n---\n# S\n\n- Old.\n</skill>\nMore.", edits)
    assert reply["new_skill"] == "---\nname: s\n---\n# S\n\n- Newer.\n- New."
    assert reply["change_summary"] == ["append: - New.", "replace: - Newer.", "delete: - Stands nowhere."]


@pytest.mark.parametrize("text", ["<skill>\n(the skill is still empty)\n</skill>", "no skill at all"])
def test_an_empty_skill_is_written_from_nothing(text: str) -> None:
    reply = rewritten(text, [{"op": "append", "content": "- New."}])
    assert str(reply["new_skill"]).strip() == "- New."


def test_the_budget_counts_the_edits_that_state_or_clear_a_rule() -> None:
    edits = [
        ShownEdit(0, "append", "", f"- {RULE}"),
        ShownEdit(1, "append", "", f"- {WORLD.useless[0]}"),
        ShownEdit(2, "append", "", f"- {WORLD.harmful[0]}"),
        ShownEdit(3, "delete", f"- {WORLD.harmful[0]}", ""),
        ShownEdit(4, "delete", f"- {RULE}", ""),
    ]
    assert named_budget(WORLD, edits)["learning_rate"] == 2
    assert named_budget(WORLD, [])["learning_rate"] == 0
