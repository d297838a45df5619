"""The hot path: processor time of a call through the whole stack, against the bare HTTP library."""

import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
from aiohttp import web

from skillopt.config.model_settings import RoleSettings
from skillopt.models.base import ChatRequest
from skillopt.models.client import CompatibleClient
from skillopt.models.limiter import LimitedModel, Limiter
from skillopt.models.retry import RetryingModel
from skillopt.types import Message, Place

CALLS = 500
_SKILL = "Write every date as YYYY.MM.DD and nothing else.\n" * 160
REQUEST = ChatRequest((Message("system", _SKILL), Message("user", "Date: 12 Jan 2014")), Place("rollout"))
_ANSWER = {
    "choices": [{"message": {"role": "assistant", "content": "ready"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 2000, "completion_tokens": 1},
}


async def _processor_milliseconds(call: Callable[[], Awaitable[object]]) -> float:
    for _ in range(50):
        await call()
    began = time.process_time()
    for _ in range(CALLS):
        await call()
    return 1000 * (time.process_time() - began) / CALLS


@asynccontextmanager
async def answering_server() -> AsyncGenerator[str]:
    """A server that gives the same answer to every call; the address of its API."""

    async def answer(request: web.Request) -> web.Response:
        await request.read()
        return web.json_response(_ANSWER)

    application = web.Application()
    application.router.add_post("/v1/chat/completions", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def report() -> None:
    body = {"model": "any", "messages": [{"role": one.role, "content": one.content} for one in REQUEST.messages]}
    async with answering_server() as address, aiohttp.ClientSession() as session:
        client = CompatibleClient("compatible", "any", base_url=address, settings=RoleSettings(name="compatible:any"))
        stack = RetryingModel(LimitedModel(client, Limiter(16)), 5, seed=0)

        async def bare() -> object:
            async with session.post(f"{address}/chat/completions", data=json.dumps(body)) as response:
                return json.loads(await response.read())

        # Both share this process with the server, so its time stands on both sides of the ratio.
        floor = await _processor_milliseconds(bare)
        ours = await _processor_milliseconds(lambda: stack.reply(REQUEST))
        await stack.close()
    print(
        f"one call, 8 kB prompt: {ours / floor:.2f} times the bare HTTP library ({ours:.2f} / {floor:.2f} ms processor)"
    )
