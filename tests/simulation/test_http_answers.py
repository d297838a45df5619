"""What goes over the wire for each kind of fault, byte by byte."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import aiohttp
import pytest

from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Fault, scripted
from skillopt.simulation.world import World

WORLD = World(7)
TASK = WORLD.tasks[0]
BODY: dict[str, Any] = {
    "model": "target",
    "messages": [
        {"role": "system", "content": WORLD.perfect_skill()},
        {"role": "user", "content": TASK.question},
    ],
}


async def raw(fault: Fault | None) -> tuple[dict[str, str], bytes, bool]:
    """The head of the first answer, what came of its body, and whether all of it did."""
    async with (
        SimulatedServer(WORLD, weather=scripted([fault])) as server,
        aiohttp.ClientSession() as session,
        session.post(f"{server.base_url}/chat/completions", json=BODY) as response,
    ):
        got = b""
        try:
            async for piece in response.content.iter_any():
                got += piece
        except aiohttp.ClientPayloadError:
            return dict(response.headers), got, False
        return dict(response.headers), got, True


async def test_a_slow_body_is_whole_and_the_same_as_without_weather() -> None:
    _, fair, _ = await raw(None)
    headers, slow, whole = await raw(Fault("slow_body"))
    assert (slow, whole, headers["Content-Type"]) == (fair, True, "application/json")


async def test_a_cut_body_is_shorter_than_it_said() -> None:
    headers, got, whole = await raw(Fault("cut_body"))
    assert not whole
    assert len(got) < int(headers["Content-Length"])


async def test_a_stalled_body_begins_and_never_goes_on() -> None:
    async with (
        SimulatedServer(WORLD, weather=scripted([Fault("stalled_body")])) as server,
        aiohttp.ClientSession() as session,
        session.post(f"{server.base_url}/chat/completions", json=BODY) as response,
    ):
        length = int(response.headers["Content-Length"])
        got = await response.content.readexactly(length // 2 // 16 * 16)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await response.content.readexactly(length - len(got))
    assert got.startswith(b"{")


async def test_a_wrong_type_is_the_whole_answer_as_a_page() -> None:
    _, fair, _ = await raw(None)
    headers, got, _ = await raw(Fault("wrong_type"))
    assert (json.loads(got), headers["Content-Type"]) == (json.loads(fair), "text/html; charset=utf-8")


@pytest.mark.parametrize(
    ("kind", "content", "finish"),
    [
        ("broken_off", TASK.answer[: len(TASK.answer) // 2], "error"),
        ("withheld", "", "content_filter"),
        ("off_topic", "Simulated: what a nice day it is.", "stop"),
    ],
)
async def test_a_reply_that_is_none_says_how_it_ended(kind: Any, content: str, finish: str) -> None:
    _, got, _ = await raw(Fault(kind))
    choice = json.loads(got)["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == (content, finish)


async def test_an_error_inside_names_its_status_and_words() -> None:
    _, got, _ = await raw(Fault("error_inside", 401, "no such key"))
    assert json.loads(got) == {"error": {"message": "no such key", "code": 401}}


async def test_a_status_names_the_type_of_its_error() -> None:
    _, got, _ = await raw(Fault("status", 429, "empty", error_type="insufficient_quota"))
    assert json.loads(got) == {"error": {"message": "empty", "type": "insufficient_quota"}}
