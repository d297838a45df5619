"""Asking the optimizer on behalf of the stages; through a whole run in `test_run.py`."""

from __future__ import annotations

from collections import Counter

import pytest
from tests.support.bench import IN_MEMORY, appends

from skillopt.errors import TransientModelError
from skillopt.models.base import ChatReply
from skillopt.run.asking import Asker
from skillopt.run.evidence import EvidenceStore
from skillopt.simulation.scripted import Said, ScriptedModel
from skillopt.step.replies import EditsReply
from skillopt.types import Message, Place

ASKED = (Message("user", "What should change?"),)
PLACE = Place("aggregate", 1, 1)


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        ([appends("a")], {}),
        (['{"edits": [],}'], {"replies_repaired": 1}),
        (["prose", appends("a")], {"replies_asked_again": 1}),
        (["prose", ChatReply("", "length")], {"replies_asked_again": 1, "replies_dropped": 1}),
        ([TransientModelError("busy")], {"provider_failed_TransientModelError": 1}),
    ],
)
async def test_whatever_is_unusual_about_a_reply_is_counted(said: list[Said], counted: dict[str, int]) -> None:
    """F45, F53."""
    counter: Counter[str] = Counter()
    with EvidenceStore(IN_MEMORY) as evidence:
        asker = Asker(ScriptedModel(said, name="optimizer"), evidence, lambda name: counter.update([name]))
        await asker.ask(ASKED, PLACE, EditsReply, reply_schema=None, may_fall_back=True)
    assert counter == counted


async def test_what_was_gone_on_without_is_not_asked_again() -> None:
    """A replay falls back where the run did, though the provider would answer now."""
    counter: Counter[str] = Counter()
    optimizer = ScriptedModel([TransientModelError("busy"), appends("a")], name="optimizer")
    with EvidenceStore(IN_MEMORY) as evidence:
        asker = Asker(optimizer, evidence, lambda name: counter.update([name]))
        for _ in range(2):
            answer = await asker.ask(ASKED, PLACE, EditsReply, reply_schema=None, may_fall_back=True)
            assert (answer.value, answer.dropped) == (None, "busy")
    assert len(optimizer.requests) == 1
    assert counter == {"provider_failed_TransientModelError": 2}
