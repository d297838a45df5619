"""How many calls are in flight, seen from the server's side."""

import asyncio

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import TransientModelError
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.client import CompatibleClient
from skillopt.models.limiter import LimitedModel, Limiter
from skillopt.types import Message, Place


class Server:
    """Counts what is in flight and answers only when told to."""

    def __init__(self) -> None:
        self.in_flight = 0
        self.most = 0
        self.asked: list[str] = []
        self.gate = asyncio.Semaphore(0)
        self.arrived = asyncio.Semaphore(0)

    async def handle(self, request: web.Request) -> web.Response:
        self.asked.append((await request.json())["messages"][0]["content"])
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        self.arrived.release()
        try:
            await self.gate.acquire()
        finally:
            self.in_flight -= 1
        return web.json_response({"choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]})


def ask(model: LimitedModel, number: int) -> "asyncio.Task[ChatReply]":
    request = ChatRequest((Message("user", str(number)),), Place("rollout", index=number))
    return asyncio.create_task(model.reply(request))


async def test_the_server_never_sees_more_than_the_limit_and_calls_go_in_their_order():
    server = Server()
    application = web.Application()
    application.router.add_post("/v1/chat/completions", server.handle)
    async with TestServer(application) as running:
        client = CompatibleClient(
            "compatible", "m", base_url=str(running.make_url("/v1")), settings=RoleSettings(name="compatible:m")
        )
        model = LimitedModel(client, Limiter(3))
        assert model.identity == client.identity
        calls = [ask(model, number) for number in range(12)]
        for number in range(12):
            await server.arrived.acquire()
            if number >= 2:
                server.gate.release()
        for _ in range(2):
            server.gate.release()
        await asyncio.gather(*calls)
        await model.close()
    assert server.most == 3
    # Three go out side by side; from then on each one that comes back lets the next of the line go.
    assert sorted(server.asked[:3]) == ["0", "1", "2"]
    assert server.asked[3:] == [str(number) for number in range(3, 12)]


async def test_a_cancelled_call_gives_back_its_slot_and_one_in_line_its_place():
    """More 15: cancelling stops the work, and nobody waits for it for ever."""
    server = Server()
    application = web.Application()
    application.router.add_post("/v1/chat/completions", server.handle)
    async with TestServer(application) as running:
        client = CompatibleClient(
            "compatible", "m", base_url=str(running.make_url("/v1")), settings=RoleSettings(name="compatible:m")
        )
        model = LimitedModel(client, Limiter(1))
        first, second, third = (ask(model, number) for number in range(3))
        await server.arrived.acquire()
        second.cancel()
        first.cancel()
        await server.arrived.acquire()
        server.gate.release()
        assert (await asyncio.wait_for(third, 5)).text == "ok"
        assert first.cancelled()
        assert second.cancelled()
        await model.close()
    assert server.asked == ["0", "2"]


async def test_a_failed_call_gives_back_its_slot(unused_tcp_port: int):
    client = CompatibleClient(
        "compatible",
        "m",
        base_url=f"http://127.0.0.1:{unused_tcp_port}/v1",
        settings=RoleSettings(name="compatible:m"),
    )
    model = LimitedModel(client, Limiter(1))
    for number in range(3):
        with pytest.raises(TransientModelError):
            await asyncio.wait_for(ask(model, number), 5)
    await model.close()


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="concurrency is 0"):
        Limiter(0)
