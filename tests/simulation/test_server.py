"""The simulated models over real sockets."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import aiohttp
import pytest

from skillopt.models.base import ChatRequest
from skillopt.simulation.optimizer import SimulatedOptimizer
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.target import SimulatedTarget
from skillopt.simulation.weather import Call, Fault, scripted
from skillopt.simulation.world import World
from skillopt.step.replies import EditsReply
from skillopt.types import Message, Place

WORLD = World(7)
TASK = WORLD.tasks[0]
GUARD = 10.0
"""Seconds after which a test that waits has failed."""
RIGHT: dict[str, Any] = {
    "model": "simulated-target",
    "messages": [
        {"role": "system", "content": WORLD.perfect_skill()},
        {"role": "user", "content": [{"type": "text", "text": TASK.question}]},
    ],
}


async def post(server: SimulatedServer, body: Any, **headers: str) -> tuple[int, Any, dict[str, str]]:
    async with (
        aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=GUARD)) as session,
        session.post(f"{server.base_url}/chat/completions", json=body, headers=headers) as response,
    ):
        return response.status, await response.json(), dict(response.headers)


async def test_the_target_answers_as_it_does_in_process_and_names_itself_as_simulated() -> None:
    async with SimulatedServer(WORLD) as server:
        status, body, _ = await post(server, RIGHT)
    here = await SimulatedTarget(WORLD).reply(
        ChatRequest((Message("system", WORLD.perfect_skill()), Message("user", TASK.question)), Place("rollout"))
    )
    assert status == 200
    assert body["choices"][0]["message"] == {"role": "assistant", "content": here.text}
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"]["prompt_tokens"] == here.usage.fresh_tokens
    assert body["usage"]["completion_tokens"] == here.usage.output_tokens
    assert here.text == TASK.answer
    assert (body["model"], body["system_fingerprint"]) == ("simulated-target", "simulated")


async def test_the_optimizer_knows_its_stage_from_the_schema_alone() -> None:
    schema = EditsReply.reply_schema()
    messages = (Message("user", f"{WORLD.seed_skill()}\nTask: {TASK.question}\nVerdict: failed."),)
    form = {"type": "json_schema", "json_schema": {"name": schema.name, "schema": dict(schema.schema), "strict": True}}
    sent = {
        "model": "optimizer",
        "messages": [{"role": "user", "content": messages[0].content}],
        "response_format": form,
    }
    async with SimulatedServer(WORLD) as server:
        _, body, _ = await post(server, sent)
    here = await SimulatedOptimizer(WORLD).reply(ChatRequest(messages, Place("reflect", 1, 1), schema))
    assert body["choices"][0]["message"]["content"] == here.text
    assert body["model"] == "simulated-optimizer"


async def test_a_seed_in_the_body_counts_as_a_repeat() -> None:
    async with SimulatedServer(WORLD, target=SimulatedTarget(WORLD, noise=0.5)) as server:
        replies = [(await post(server, {**RIGHT, "seed": seed}))[1]["choices"][0]["message"] for seed in range(12)]
        again = [(await post(server, {**RIGHT, "seed": seed}))[1]["choices"][0]["message"] for seed in range(12)]
    assert len({reply["content"] for reply in replies}) == 2
    assert replies == again


async def test_calls_are_kept_in_the_order_of_arrival() -> None:
    async with SimulatedServer(WORLD) as server:
        await post(server, RIGHT)
        await post(server, {**RIGHT, "model": "optimizer"})
        await post(server, {**RIGHT, "model": "gpt"})
        assert [(call.number, call.model) for call in server.calls] == [(0, "target"), (1, "optimizer"), (2, "")]
        assert server.calls[0].body == RIGHT
        await post(server, RIGHT)
        assert [call.earlier for call in server.calls] == [0, 0, 0, 1]
        assert (server.count("target"), server.count("optimizer")) == (2, 1)


@pytest.mark.parametrize(
    ("body", "status", "says"),
    [
        ({**RIGHT, "model": "gpt"}, 404, "'gpt' does not exist"),
        ({**RIGHT, "messages": []}, 400, "messages must not be empty"),
        ({"model": "target"}, 400, "does not follow"),
        ({**RIGHT, "messages": [{"role": "user"}]}, 400, "does not follow"),
        ({**RIGHT, "seed": "x"}, 400, "does not follow"),
        ({**RIGHT, "stream": True}, 400, "does not stream"),
        ([1], 400, "must be a JSON object"),
    ],
)
async def test_a_wrong_request_is_told_what_is_wrong(body: Any, status: int, says: str) -> None:
    async with SimulatedServer(WORLD) as server:
        got, answer, _ = await post(server, body)
    assert got == status
    assert says in answer["error"]["message"]


async def test_a_body_that_is_no_json_is_a_bad_request() -> None:
    async with (
        SimulatedServer(WORLD) as server,
        aiohttp.ClientSession() as session,
        session.post(f"{server.base_url}/chat/completions", data=b"{") as response,
    ):
        assert response.status == 400


async def test_a_key_is_asked_for_where_one_is_set() -> None:
    async with SimulatedServer(WORLD, api_key="right") as server:
        assert (await post(server, RIGHT))[0] == 401
        assert (await post(server, RIGHT, Authorization="Bearer wrong"))[0] == 401
        assert (await post(server, RIGHT, Authorization="Bearer right"))[0] == 200


async def test_a_status_fault_carries_its_message_and_wait() -> None:
    weather = scripted([Fault("status", 429, "slow down", retry_after="2"), Fault("status", 500), None])
    async with SimulatedServer(WORLD, weather=weather) as server:
        status, body, headers = await post(server, RIGHT)
        assert (status, body["error"]["message"], headers["Retry-After"]) == (429, "slow down", "2")
        status, _, headers = await post(server, RIGHT)
        assert (status, "Retry-After" in headers) == (500, False)
        assert (await post(server, RIGHT))[0] == 200


@pytest.mark.parametrize(
    ("kind", "content", "finish"),
    [("empty", "", "stop"), ("reasoning_only", "", "stop"), ("cut", TASK.answer[: len(TASK.answer) // 2], "length")],
)
async def test_replies_that_are_none_come_as_asked(kind: Any, content: str, finish: str) -> None:
    async with SimulatedServer(WORLD, weather=scripted([Fault(kind)])) as server:
        status, body, _ = await post(server, RIGHT)
    choice = body["choices"][0]
    assert (status, choice["message"]["content"], choice["finish_reason"]) == (200, content, finish)
    assert ("reasoning_content" in choice["message"]) == (kind == "reasoning_only")


async def test_garbage_is_no_json_and_no_choices_is_an_empty_list() -> None:
    async with SimulatedServer(WORLD, weather=scripted([Fault("no_choices"), Fault("garbage")])) as server:
        assert (await post(server, RIGHT))[1]["choices"] == []
        with pytest.raises(aiohttp.ContentTypeError):
            await post(server, RIGHT)


async def test_a_reset_breaks_the_connection() -> None:
    async with SimulatedServer(WORLD, weather=scripted([Fault("reset")])) as server:
        with pytest.raises((aiohttp.ServerDisconnectedError, aiohttp.ClientOSError)):
            await post(server, RIGHT)
        assert (await post(server, RIGHT))[0] == 200


async def test_a_call_that_hangs_is_counted_as_abandoned_when_its_client_goes() -> None:
    reached, left = asyncio.Event(), asyncio.Event()

    async def watch(call: Call) -> None:
        reached.set()

    class Watched(SimulatedServer):
        async def _complete(self, http: Any) -> Any:
            try:
                return await super()._complete(http)
            finally:
                left.set()

    async with Watched(WORLD, weather=scripted([Fault("hang")]), delay=watch) as server:
        asked = asyncio.create_task(post(server, RIGHT))
        await asyncio.wait_for(reached.wait(), GUARD)
        assert not asked.done()
        asked.cancel()
        await asyncio.wait_for(left.wait(), GUARD)
        assert server.abandoned == 1


async def test_closing_the_server_ends_a_call_that_hangs() -> None:
    reached = asyncio.Event()

    async def watch(call: Call) -> None:
        reached.set()

    async with SimulatedServer(WORLD, weather=lambda call: Fault("hang"), delay=watch) as server:
        asked = asyncio.create_task(post(server, RIGHT))
        await asyncio.wait_for(reached.wait(), GUARD)
    with pytest.raises(aiohttp.ClientError):
        await asked


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1), (2, 1, 0)])
async def test_a_delay_decides_the_order_of_completion(order: Sequence[int]) -> None:
    gates = [asyncio.Event() for _ in order]
    finished: list[int] = []

    async def wait(call: Call) -> None:
        await gates[int(str(call.body["user"]))].wait()

    async with SimulatedServer(WORLD, delay=wait) as server:

        async def ask(number: int) -> None:
            await post(server, {**RIGHT, "user": str(number)})
            finished.append(number)

        asked = [asyncio.create_task(ask(number)) for number in range(3)]
        for number in order:
            gates[number].set()
            await asked[number]
    assert finished == list(order)


async def test_the_address_of_a_server_that_does_not_run_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="not running"):
        _ = SimulatedServer(WORLD).base_url
