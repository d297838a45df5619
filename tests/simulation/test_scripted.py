"""The model that follows a script."""

from __future__ import annotations

import asyncio
import json

import pytest

from skillopt.errors import FatalModelError, TransientModelError
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.simulation.scripted import Said, ScriptedModel
from skillopt.types import Message, Place


def request(text: str = "?") -> ChatRequest:
    return ChatRequest((Message("user", text),), Place("rollout"))


async def test_a_sequence_is_said_in_order_and_then_used_up() -> None:
    whole = ChatReply("half", finish_reason="length")
    model = ScriptedModel(["one", {"edits": []}, whole], name="short")
    assert (await model.reply(request())).text == "one"
    assert json.loads((await model.reply(request())).text) == {"edits": []}
    assert await model.reply(request()) is whole
    with pytest.raises(FatalModelError, match="short: the script holds 3 replies"):
        await model.reply(request())
    await model.close()


async def test_an_exception_in_the_script_is_raised() -> None:
    model = ScriptedModel([TransientModelError("overloaded"), "then"])
    with pytest.raises(TransientModelError, match="overloaded"):
        await model.reply(request())
    assert (await model.reply(request())).text == "then"


async def test_a_function_answers_the_request_and_requests_are_kept() -> None:
    model = ScriptedModel(lambda asked: asked.messages[0].content.upper())
    reply = await model.reply(request("word"))
    assert (reply.text, reply.usage.calls) == ("WORD", 1)
    assert model.requests == [request("word")]


async def test_an_async_function_decides_the_order_of_completion() -> None:
    second_is_done = asyncio.Event()

    async def script(asked: ChatRequest) -> Said:
        if asked.messages[0].content == "first":
            await second_is_done.wait()
        return asked.messages[0].content

    model, done = ScriptedModel(script), list[str]()

    async def ask(text: str) -> None:
        done.append((await model.reply(request(text))).text)
        second_is_done.set()

    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(ask("first"))
        group.create_task(ask("second"))
    assert done == ["second", "first"]


def test_it_names_itself_as_simulated_and_two_scripts_can_be_told_apart() -> None:
    assert ScriptedModel([], name="a").identity == {"provider": "simulated", "simulated": True, "model": "a"}
    assert ScriptedModel([], name="a").identity != ScriptedModel([], name="b").identity
