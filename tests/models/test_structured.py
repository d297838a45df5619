"""A structured question: one answer, one second chance, or a drop that says why."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import Field

from skillopt.errors import FatalModelError, ModelError, TransientModelError
from skillopt.models.base import ChatReply, ChatRequest, ReplySchema
from skillopt.models.structured import Answer, Reply, ask
from skillopt.types import JsonValue, Message, Place

PLACE = Place("reflect", epoch=1, step=2, index=3)
QUESTION = (Message("system", "You edit."), Message("user", "Propose."))


class Proposal(Reply):
    count: int
    names: tuple[str, ...] = ()

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        return ReplySchema("proposal", {"type": "object"})


class Outer(Reply):
    inner: tuple[Proposal, ...] = ()
    note: str | None = Field(default=None, max_length=5)

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        return ReplySchema("outer", {"type": "object"})


class Scripted:
    """A model that says what it is told to, in order."""

    def __init__(self, *script: str | ChatReply | ModelError) -> None:
        self.script = list(script)
        self.requests: list[ChatRequest] = []

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        return {"provider": "scripted"}

    async def reply(self, request: ChatRequest) -> ChatReply:
        self.requests.append(request)
        said = self.script.pop(0)
        if isinstance(said, ModelError):
            raise said
        return ChatReply(said) if isinstance(said, str) else said

    async def close(self) -> None: ...


async def test_a_good_reply_is_asked_for_once() -> None:
    model = Scripted('{"count": 2, "else": "ignored"}')
    assert await ask(model, QUESTION, PLACE, Proposal) == Answer(Proposal(count=2))
    assert model.requests == [ChatRequest(QUESTION, PLACE, schema=Proposal.reply_schema())]


async def test_a_repaired_reply_says_so() -> None:
    """F45: repairs are visible."""
    assert await ask(Scripted('{"count": 2,}'), QUESTION, PLACE, Proposal) == Answer(Proposal(count=2), repaired=True)


@pytest.mark.parametrize(
    ("useless", "reason"),
    [
        ("I would add a rule.", "the reply holds no JSON value"),
        ('{"names": ["a"]}', "the reply's JSON does not have the form asked for: count: Field required"),
        (
            '{"count": "many"}',
            "the reply's JSON does not have the form asked for: count: Input should be a valid integer, "  # noqa: ISC004
            "unable to parse string as an integer",
        ),
        ('"count"', "the reply holds no JSON value"),
        ('{"count": 1} {"count": 2}', "the reply holds 2 JSON values where one is asked for"),
        ("<think>I will...", "the reply ends inside its reasoning"),
        (ChatReply("", reasoning="Hm."), "the reply holds only reasoning"),
        (ChatReply(" \n"), "the reply is empty"),
        (ChatReply('{"count": 1}', finish_reason="length"), "the reply was cut at its token limit before it was whole"),
    ],
)
async def test_a_useless_reply_is_asked_for_once_more_and_then_dropped(useless: str | ChatReply, reason: str) -> None:
    """F49, F53: cut, empty, reasoning only or out of form is no proposal; one more request shows the reason."""
    model = Scripted(useless, useless)
    answer = await ask(model, QUESTION, PLACE, Proposal)
    said = useless if isinstance(useless, str) else useless.text or useless.reasoning
    assert answer == Answer(None, asked_again=True, dropped=reason, said=said)
    assert not model.script, "asked twice and no more"
    first, second = model.requests
    assert second.place == Place("reflect", epoch=1, step=2, index=3, attempt=1)
    assert second.messages[:2] == first.messages
    assert second.schema == first.schema
    assert second.messages[-1].role == "user"
    assert reason in second.messages[-1].content
    text = useless if isinstance(useless, str) else useless.text
    between = second.messages[2:-1]
    assert between == ((Message("assistant", text),) if text.strip() else ()), "a blank message is refused by some APIs"


async def test_the_second_reply_is_taken() -> None:
    answer = await ask(Scripted("no", '```\n{"count": "8"}\n```'), QUESTION, PLACE, Proposal)
    assert answer == Answer(Proposal(count=8), asked_again=True)


async def test_a_long_cut_reply_is_shown_in_part_only() -> None:
    model = Scripted(ChatReply("x" * 100_000, finish_reason="length"), '{"count": 1}')
    await ask(model, QUESTION, PLACE, Proposal)
    assert len(model.requests[1].messages[2].content) == 2000


async def test_the_error_names_fields_by_their_path_and_stays_short() -> None:
    bad = '{"note": "' + "y" * 10_000 + '", "inner": [' + '{"count": "many"},' * 30 + '{"count": 1}]}'
    message = (await ask(Scripted(bad, bad), QUESTION, PLACE, Outer)).dropped
    assert "inner.0.count: " in message
    assert message.endswith("; and 28 more")
    assert len(message) < 1000


@pytest.mark.parametrize("error", [TransientModelError("busy"), FatalModelError("no such model")])
async def test_a_model_that_does_not_answer_is_not_a_dropped_reply(error: ModelError) -> None:
    with pytest.raises(type(error)):
        await ask(Scripted(error), QUESTION, PLACE, Proposal)
    with pytest.raises(type(error)):
        await ask(Scripted("no", error), QUESTION, PLACE, Proposal)


async def test_a_list_of_one_object_stands_for_the_object() -> None:
    assert (await ask(Scripted('[{"count": 1}]'), QUESTION, PLACE, Proposal)).value == Proposal(count=1)
    assert (await ask(Scripted("[[1]]", "[1]"), QUESTION, PLACE, Proposal)).value is None
