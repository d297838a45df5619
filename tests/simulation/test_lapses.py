"""What the simulated models say of lapses, and write against them."""

from __future__ import annotations

import json

import pytest

from skillopt.models.base import ChatRequest
from skillopt.simulation.lapses import (
    consolidated,
    lapsed_codes,
    lapsing,
    notes_asked_for,
    reminded_codes,
    reminder,
)
from skillopt.simulation.optimizer import SimulatedOptimizer
from skillopt.simulation.world import World
from skillopt.skill.appendix import MOST_NOTE_TOKENS, add_note
from skillopt.skill.document import Skill
from skillopt.types import Message, Place

CODES = tuple(f"QX-{number}" for number in range(10, 30))


def test_what_is_said_of_a_lapse_and_against_it_is_read_again() -> None:
    text = f"- {lapsing('QX-31')}\n{lapsing('AB-10')} {lapsing('QX-31')}"
    assert lapsed_codes(text) == ("QX-31", "AB-10")
    assert reminded_codes(f"# S\n- {reminder(['QX-31', 'AB-10'])}\n* **{reminder(['CD-20'])}**") == (
        *("QX-31", "AB-10"),
        "CD-20",
    )
    assert reminded_codes(text) == lapsed_codes(reminder(["QX-31"])) == ()


def test_there_is_one_note_for_each_lapse_that_the_skill_does_not_remind_of() -> None:
    lapses = " ".join(map(lapsing, CODES[:3]))
    text = (
        f"Reply with appendix_notes. <skill>{reminder(CODES[:1])}</skill> Lost before: {reminder(CODES[2:3])} {lapses}"
    )
    assert notes_asked_for(text) == {"appendix_notes": [reminder([CODES[1]]), reminder([CODES[2]])]}
    assert notes_asked_for(lapses) == {}, "a prompt that asks for none gets none"


def test_notes_in_fewer_words_remind_of_the_same() -> None:
    reply = consolidated("\n".join(f"- {reminder([code])}" for code in CODES))
    notes = reply["consolidated_notes"]
    assert isinstance(notes, list)
    assert len(notes) == 3
    assert reminded_codes("\n".join(map(str, notes))) == CODES
    assert all(isinstance(add_note(Skill(), str(note), max_tokens=MOST_NOTE_TOKENS * 2), Skill) for note in notes)


@pytest.mark.parametrize("place", ["appendix_consolidate", ""])
async def test_the_optimizer_answers_the_call_that_asks_for_fewer(place: str) -> None:
    text = f'{reminder(CODES[:1])}\n{reminder(CODES[1:2])} Reply with {{"consolidated_notes": []}}'
    optimizer = SimulatedOptimizer(World(), malformed=0.0)
    said = (await optimizer.reply(ChatRequest((Message("user", text),), Place(place)))).text
    assert json.loads(said.split("```json")[1].strip("`\n"))["consolidated_notes"] == [reminder(CODES[:2])]
