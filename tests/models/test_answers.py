"""A blank reply is no answer, unless it says why it is blank."""

from __future__ import annotations

import pytest

from skillopt.errors import TransientModelError
from skillopt.models.answers import AnsweringModel, answers
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.retry import RetryingModel
from skillopt.simulation.scripted import ScriptedModel
from skillopt.types import Message, Place

REQUEST = ChatRequest((Message("user", "q"),), Place("rollout", 1, 1))


async def no_wait(seconds: float) -> None: ...


@pytest.mark.parametrize("finish", ["stop", "tool_calls", "unheard_of"])
@pytest.mark.parametrize(
    ("reply", "says"),
    [(ChatReply(""), "is empty"), (ChatReply(" \n"), "is empty"), (ChatReply("", reasoning="Hm."), "only reasoning")],
)
async def test_a_blank_reply_is_a_failure_that_may_pass(reply: ChatReply, says: str, finish: str) -> None:
    """More 3: nothing unmeasured becomes a score of 0."""
    blank = ChatReply(reply.text, finish, reply.reasoning)
    with pytest.raises(TransientModelError, match=rf"simulated:scripted: the reply .*{says} .*finish reason {finish}"):
        await AnsweringModel(ScriptedModel([blank])).reply(REQUEST)


async def test_it_is_asked_for_again() -> None:
    target = ScriptedModel([ChatReply(""), ChatReply("", reasoning="Hm."), "42"])
    model = RetryingModel(AnsweringModel(target), 3, seed=1, sleep=no_wait)
    assert (await model.reply(REQUEST)).text == "42"
    assert len(target.requests) == 3


@pytest.mark.parametrize("finish", ["length", "content_filter", "refusal"])
async def test_a_blank_reply_that_says_why_is_what_the_target_did(finish: str) -> None:
    reply = ChatReply("", finish, "Hm.")
    assert await AnsweringModel(ScriptedModel([reply])).reply(REQUEST) == reply


@pytest.mark.parametrize(
    ("reply", "answered"),
    [(ChatReply("42"), True), (ChatReply(" \n"), False), (ChatReply("", "length"), True), (ChatReply(""), False)],
)
def test_a_blank_reply_is_of_no_use_unless_it_says_why(reply: ChatReply, answered: bool) -> None:
    """The ledger shows it as paid and not used."""
    assert answers(reply) is answered


async def test_an_answer_comes_through_and_the_identity_is_the_models() -> None:
    target = ScriptedModel([" 42\n"])
    model = AnsweringModel(target)
    assert (await model.reply(REQUEST)).text == " 42\n"
    assert model.identity == target.identity
    await model.close()
