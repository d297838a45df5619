"""What crosses the protocol of models."""

from __future__ import annotations

import pytest

from skillopt.models.base import ChatReply, ChatRequest
from skillopt.simulation.scripted import ScriptedModel
from skillopt.types import Message, Place, Usage


@pytest.mark.parametrize(("reason", "cut"), [("length", True), ("stop", False), ("content_filter", False)])
def test_only_a_reply_that_ended_at_its_token_limit_is_cut(reason: str, cut: bool) -> None:
    assert ChatReply("text", finish_reason=reason).cut is cut


def test_a_reply_counts_as_one_call() -> None:
    assert ChatReply("text").usage == Usage(calls=1)


async def test_anything_with_an_identity_and_a_reply_is_a_model() -> None:
    model = ScriptedModel(["ready"])
    request = ChatRequest((Message("user", "Are you?"),), Place("check"))
    assert (await model.reply(request)).text == "ready"
    await model.close()
    await model.close()
