"""How many calls are in flight, seen from the server's side, and how that number follows what the provider says."""

import asyncio
from collections.abc import Mapping

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.config.model_settings import RoleSettings
from skillopt.deadline import Deadline
from skillopt.errors import FatalModelError, ModelError, ModelTimeoutError, RateLimitError, TransientModelError
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.client import CompatibleClient
from skillopt.models.limiter import LimitedModel, Limiter
from skillopt.types import JsonValue, Message, Place


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


class Provider:
    """Answers a call when the test says how: a time that only waits move, and the moments at which calls began."""

    identity: Mapping[str, JsonValue] = {}

    def __init__(self, concurrency: int) -> None:
        self.now = 0.0
        self.slowed: list[int] = []
        self.limiter = Limiter(
            concurrency, on_slowed=self.slowed.append, clock=lambda: self.now, sleep=self._wait_for_the_time
        )
        self.model = LimitedModel(self, self.limiter)
        self.began: list[float] = []
        self.open: list[asyncio.Future[None]] = []
        self.asked: list[asyncio.Task[ChatReply]] = []
        self.most = 0
        self.over_the_limit = 0
        self._sleepers: list[tuple[float, asyncio.Future[None]]] = []

    async def reply(self, request: ChatRequest) -> ChatReply:
        self.began.append(self.now)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.open.append(answer)
        self.most = max(self.most, len(self.open))
        self.over_the_limit += len(self.open) > self.limiter.allowed
        try:
            await answer
        finally:
            self.open.remove(answer)
        return ChatReply("ok")

    async def close(self) -> None:
        pass

    async def _wait_for_the_time(self, seconds: float) -> None:
        waking: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._sleepers.append((self.now + seconds, waking))
        await waking

    async def settle(self) -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    async def ask(self, count: int = 1) -> None:
        self.asked += [ask(self.model, number) for number in range(count)]
        await self.settle()

    async def answer(self, count: int = 1, error: ModelError | None = None) -> None:
        """Let the oldest calls come back."""
        for one in self.open[:count]:
            if error is None:
                one.set_result(None)
            else:
                one.set_exception(error)
        await self.settle()

    async def pass_time(self, seconds: float) -> None:
        await self.settle()
        until = self.now + seconds
        while due := [when for when, waking in self._sleepers if when <= until and not waking.done()]:
            self.now = max(self.now, min(due))
            for when, waking in self._sleepers:
                if when <= self.now and not waking.done():
                    waking.set_result(None)
            await self.settle()
        self.now = until

    async def finish(self) -> None:
        """Bring every call to its end."""
        while not all(task.done() for task in self.asked):
            await self.pass_time(1000)
            await self.answer(len(self.open))
        await asyncio.gather(*self.asked, return_exceptions=True)


def too_many(seconds: float | None = None, *, status: int = 429) -> RateLimitError:
    return RateLimitError("m: slow down", retry_after=seconds, status=status)


async def test_a_429_halves_what_may_be_in_flight_once_a_round():
    """What began before the last decrease says nothing of the number that is allowed since."""
    provider = Provider(16)
    await provider.ask(40)
    await provider.answer(3, too_many())
    assert provider.limiter.allowed == 8
    await provider.answer(13, too_many())
    assert (provider.limiter.allowed, len(provider.open)) == (8, 8)
    for allowed in (4, 2, 1):
        await provider.answer(1, too_many())
        await provider.answer(len(provider.open))
        assert provider.limiter.allowed == len(provider.open) == allowed
    await provider.answer(1, too_many())
    assert provider.limiter.allowed == 1
    await provider.finish()


async def test_it_rises_by_one_after_a_full_round_of_replies_and_never_above_the_setting():
    provider = Provider(4)
    await provider.ask(60)
    await provider.answer(1, too_many())
    await provider.answer(3)
    seen = [provider.limiter.allowed]
    for _ in range(15):
        await provider.answer(1)
        seen.append(provider.limiter.allowed)
    assert seen == [2, 2, 3, 3, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4]
    assert len(provider.open) == 4
    await provider.finish()


@pytest.mark.parametrize(
    "error",
    [
        TransientModelError("m: 500", status=500),
        too_many(status=503),
        too_many(5.0, status=503),
        ModelTimeoutError("m: too slow"),
        TransientModelError("m: the connection broke"),
        FatalModelError("m: no", status=401),
    ],
)
async def test_no_other_failure_changes_how_many_may_be_in_flight(error: ModelError):
    provider = Provider(4)
    await provider.ask(8)
    await provider.answer(4, error)
    assert (provider.limiter.allowed, provider.slowed) == (4, [])
    await provider.finish()


async def test_a_person_is_told_the_first_time_only():
    provider = Provider(8)
    await provider.ask(8)
    await provider.answer(8, too_many())
    await provider.ask(4)
    await provider.answer(4, too_many())
    assert (provider.slowed, provider.limiter.allowed) == ([4], 2)
    await provider.finish()


async def test_a_pause_that_is_asked_for_holds_every_call_back_and_then_they_begin_one_by_one():
    """No stampede: what waited does not arrive in one moment."""
    provider = Provider(8)
    await provider.ask(1)
    await provider.answer(1, too_many(20.0))
    await provider.ask(12)
    await provider.pass_time(19.9)
    assert provider.began == [0.0]
    await provider.pass_time(0.1)
    assert provider.began == [0.0, 20.0]
    await provider.pass_time(1000)
    # Half of 8 may be in flight, and the spread after a long pause is 10 seconds.
    assert provider.began[1:] == [20.0, 22.5, 25.0, 27.5]
    await provider.finish()


async def test_after_a_short_pause_the_spread_is_short_and_after_it_calls_begin_at_once():
    provider = Provider(4)
    await provider.ask(1)
    await provider.answer(1, too_many(0.5))
    await provider.ask(20)
    await provider.pass_time(0.75)
    assert provider.began[1:] == [0.5, 0.75]
    await provider.pass_time(0.25)
    await provider.answer(2)
    # The two replies are a full round, so there is room for three.
    assert provider.began[3:] == [1.0, 1.0, 1.0]
    await provider.finish()


async def test_the_longest_pause_of_several_counts_and_a_shorter_one_ends_no_longer_one():
    provider = Provider(4)
    await provider.ask(3)
    await provider.answer(1, too_many(10.0))
    await provider.answer(1, too_many(86_400.0))
    await provider.answer(1, too_many(2.0))
    await provider.ask(1)
    await provider.pass_time(299)
    assert len(provider.began) == 3
    await provider.pass_time(1)
    assert provider.began[3] == 300.0
    await provider.finish()


async def test_a_pause_lengthened_while_the_head_of_the_line_waits_holds_it_on():
    provider = Provider(4)
    await provider.ask(2)
    await provider.answer(1, too_many(5.0))
    await provider.ask(1)
    await provider.pass_time(3)
    await provider.answer(1, too_many(30.0))
    await provider.pass_time(29.5)
    assert len(provider.began) == 2
    await provider.pass_time(0.5)
    assert provider.began[2] == 33.0
    await provider.finish()


async def test_a_call_that_is_cancelled_while_it_is_held_back_lets_the_next_one_go():
    provider = Provider(2)
    await provider.ask(1)
    await provider.answer(1, too_many(5.0))
    await provider.ask(2)
    provider.asked[1].cancel()
    await provider.pass_time(5)
    assert provider.began == [0.0, 5.0]
    await provider.finish()
    assert provider.asked[1].cancelled()


async def test_being_held_back_costs_a_task_nothing_of_its_deadline():
    """F1"""
    limiter = Limiter(1)
    with pytest.raises(RateLimitError):
        async with limiter.slot():
            raise too_many(0.3)
    async with Deadline(0.1), limiter.slot():
        pass


MOVES = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.integers(1, 6)),
        st.tuples(st.just("reply"), st.integers(1, 4)),
        st.tuples(st.just("429"), st.integers(1, 4)),
        st.tuples(st.just("429 with a wait"), st.integers(1, 400)),
        st.tuples(st.just("503 with a wait"), st.integers(1, 400)),
        st.tuples(st.just("failure"), st.integers(1, 4)),
        st.tuples(st.just("cancel"), st.integers(0, 30)),
        st.tuples(st.just("time"), st.integers(1, 60)),
    ),
    max_size=40,
)


@settings(deadline=None, max_examples=150)
@given(st.integers(1, 6), MOVES)
async def test_never_more_than_allowed_begin_and_every_slot_comes_back(concurrency: int, moves: list[tuple[str, int]]):
    """More 15"""
    provider = Provider(concurrency)
    for move, number in moves:
        match move:
            case "ask":
                await provider.ask(number)
            case "reply":
                await provider.answer(number)
            case "429":
                await provider.answer(number, too_many())
            case "429 with a wait":
                await provider.answer(1, too_many(float(number)))
            case "503 with a wait":
                await provider.answer(1, too_many(float(number), status=503))
            case "failure":
                await provider.answer(number, TransientModelError("m: broke"))
            case "cancel":
                for task in provider.asked[number : number + 1]:
                    task.cancel()
                await provider.settle()
            case _:
                await provider.pass_time(number)
        assert 1 <= provider.limiter.allowed <= concurrency
        assert provider.limiter.in_flight == len(provider.open)
    await provider.finish()
    assert provider.over_the_limit == 0
    assert provider.most <= concurrency
    assert provider.limiter.in_flight == 0
    # As many as may be can still be in flight at once.
    await provider.ask(concurrency + 2)
    await provider.pass_time(1000)
    assert len(provider.open) == provider.limiter.allowed
    await provider.finish()


def test_a_limit_below_one_is_refused():
    with pytest.raises(ValueError, match="concurrency is 0"):
        Limiter(0)
