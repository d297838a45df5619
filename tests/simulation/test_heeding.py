"""What the simulated optimizer reads of earlier trials, in the words that the stages show them in."""

from __future__ import annotations

from fractions import Fraction

import pytest

from skillopt.epoch.showing import show_accepted
from skillopt.rejections import Rejection, Rejections
from skillopt.simulation.heeding import earlier_guidance, edit_sense, kind_of_edit, lost_edits, memory_text, trusts
from skillopt.simulation.world import World
from skillopt.skill.document import Skill
from skillopt.state import Acceptance, Measured, State
from skillopt.types import Edit, EditOperation

WORLD = World(7, misguided=2)
RULE, OTHER = (f"- {rule.sentence}" for rule in WORLD.rules[:2])
IDLE, BAD = f"- {WORLD.useless[1]}", f"- {WORLD.harmful[4]}"


def append(content: str) -> Edit:
    return Edit(EditOperation.APPEND, content=content)


def rejected(*edits: Edit, step: int = 1) -> str:
    lost = Rejection(step, edits, "not strictly higher", lost_by=Fraction(1, 40), broken=("t1",))
    return Rejections((lost,)).digest_text(most=5)


def accepted(*edits: Edit) -> str:
    seed = Measured(Skill(), ())
    state = State(seed=seed, current=seed, best=seed, accepted=(Acceptance(1, edits, "strictly higher"),))
    return show_accepted(state, most=20)


def test_edits_are_shown_as_lost_by_the_digest_of_rejections_and_by_nothing_else() -> None:
    replaced = Edit(EditOperation.REPLACE, target=IDLE, content=RULE)
    deleted = Edit(EditOperation.DELETE, target=BAD)
    text = f"{rejected(append(IDLE), replaced, deleted)}\n{accepted(append(OTHER))}\n- append what you like (tried)"
    assert lost_edits(text) == {(False, IDLE[2:]), (False, RULE[2:]), (True, BAD[2:])}


@pytest.mark.parametrize(
    "edit", [{"op": "append", "content": IDLE}, {"op": "insert_after", "target": "## House rules", "content": IDLE}]
)
def test_an_edit_is_known_again_wherever_it_puts_its_words(edit: dict[str, str]) -> None:
    assert edit_sense({**edit}) in lost_edits(rejected(append(IDLE)))
    assert edit_sense({"op": "delete", "target": IDLE}) not in lost_edits(rejected(append(IDLE)))


def test_an_edit_is_as_good_as_what_it_brings_or_removes() -> None:
    assert kind_of_edit(WORLD, "append", RULE) == kind_of_edit(WORLD, "delete", BAD) == "useful"
    assert kind_of_edit(WORLD, "append", IDLE) == kind_of_edit(WORLD, "delete", RULE) == "useless"
    assert kind_of_edit(WORLD, "insert_after", f"{RULE}\n{BAD}") == "harmful"


def test_the_memory_counts_what_was_accepted_and_rejected_of_each_kind() -> None:
    memory = memory_text(WORLD, f"{accepted(append(RULE), append(OTHER))}\n{rejected(append(IDLE), append(BAD))}")
    assert memory.splitlines()[:3] == [
        "Rules for one subject: 2 accepted, 0 rejected.",
        "General advice: 0 accepted, 1 rejected.",
        "Orders against the rules: 0 accepted, 1 rejected.",
    ]
    assert trusts(f"Your notes:\n{memory}\n") == pytest.approx((3 / 4, 1 / 3, 1 / 3))


def test_without_a_memory_every_kind_is_trusted_as_much() -> None:
    assert trusts("(none)") == (0.5, 0.5, 0.5)


def test_the_earlier_guidance_is_read_from_the_skill_as_it_stands() -> None:
    old, now = (Skill.parse(WORLD.seed_skill()).with_section("SLOW_UPDATE", text) for text in (IDLE, f"{RULE}\n{BAD}"))
    assert earlier_guidance(f"{old.text}\n\n{now.text}") == (RULE[2:], BAD[2:])
    assert earlier_guidance(WORLD.seed_skill()) == ()
