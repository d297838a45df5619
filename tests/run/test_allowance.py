"""Limits are asked ahead of every call, with what is in flight counted."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.concurrency import map_ordered
from skillopt.config.limit_settings import LimitSettings
from skillopt.config.model_settings import ModelSettings, PriceSettings, RoleSettings
from skillopt.errors import Interrupted, LimitReached, RunDirectoryError, TransientModelError
from skillopt.interruption import Interruption, interruptible
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.models.meter import Meter, MeteredModel, Payment
from skillopt.models.prices import Prices
from skillopt.run.allowance import Allowance, AllowedModel
from skillopt.types import JsonValue, Message, Place, Role, Usage

PRICED = RoleSettings(name="compatible:any", price=PriceSettings(input=1.0, output=2.0))
PRICES = Prices(ModelSettings(target=PRICED, optimizer=RoleSettings(name="compatible:other")), on=date(2026, 1, 1))
REQUEST = ChatRequest((Message("user", "one two three four five"),), Place("gate", 1, 1))
PROMPT_TOKENS = 5


class Answering(ChatModel):
    """A model whose answer takes a while and so many tokens."""

    def __init__(self, bill: Bill, output_tokens: int) -> None:
        self._bill = bill
        self._output_tokens = output_tokens

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        return {}

    async def reply(self, request: ChatRequest) -> ChatReply:
        self._bill.in_flight += 1
        self._bill.most_in_flight = max(self._bill.most_in_flight, self._bill.in_flight)
        for _ in range(3):
            await asyncio.sleep(0)
        self._bill.in_flight -= 1
        return ChatReply("said", usage=Usage(1, fresh_tokens=PROMPT_TOKENS, output_tokens=self._output_tokens))

    async def close(self) -> None:
        """Nothing to give back."""


class Bill:
    """Both roles behind one allowance, and what was paid."""

    def __init__(self, limits: dict[str, Any], *, reply_tokens: int | None = None) -> None:
        self.meter = Meter()
        self.most_in_flight = self.in_flight = 0
        self.now = 0.0
        self.allowance = Allowance(
            LimitSettings.model_validate(limits),
            paid=self.meter,
            prices=PRICES,
            reply_tokens={"target": reply_tokens, "optimizer": reply_tokens},
            clock=lambda: self.now,
        )

    def pay(self, payment: Payment) -> None:
        self.meter.add(payment.role, payment.place, payment.usage, payment.dollars)

    async def calls(self, costs: list[int], *, role: Role = "target") -> list[str]:
        """Begin calls of so many output tokens all at once; what was said to those that were refused."""
        models = [MeteredModel(Answering(self, cost), self.pay, role=role, prices=PRICES) for cost in costs]
        asked = (AllowedModel(model, self.allowance, role=role).reply(REQUEST) for model in models)
        done = await asyncio.gather(*asked, return_exceptions=True)
        for error in done:
            assert isinstance(error, LimitReached | ChatReply), error
        return [error.message for error in done if isinstance(error, LimitReached)]

    def used(self, role: Role | None = None) -> Usage:
        return self.meter.total(role).usage


@given(limit=st.integers(1, 12), calls=st.integers(1, 20))
async def test_a_limit_of_calls_is_never_exceeded_however_many_begin_at_once(limit: int, calls: int) -> None:
    bill = Bill({"calls": limit})
    refused = await bill.calls([1] * calls)
    assert bill.used().calls == min(limit, calls)
    assert refused == [f"limits.calls is {limit}, and {limit} were used"] * max(0, calls - limit)


@given(
    limit=st.integers(1, 3000),
    costs=st.lists(st.integers(1, 900), min_size=1, max_size=25),
    bounded=st.booleans(),
)
async def test_a_limit_of_tokens_is_exceeded_by_less_than_one_calls_own_cost(
    limit: int, costs: list[int], bounded: bool
) -> None:
    bill = Bill({"tokens": limit}, reply_tokens=900 if bounded else None)
    await bill.calls(costs)
    assert bill.used().tokens < limit + max(costs) + PROMPT_TOKENS
    whole = sum(costs) + PROMPT_TOKENS * len(costs)
    assert bill.used().tokens >= min(limit, whole), "what is below the limit may be used"


@given(
    limit=st.integers(1, 400_000),
    first=st.integers(1, 30_000),
    later=st.lists(st.floats(0.01, 4.0), min_size=1, max_size=25),
    amount=st.sampled_from(["tokens", "dollars"]),
)
async def test_so_it_is_with_heavy_replies_whose_length_nothing_bounds(
    limit: int, first: int, later: list[float], amount: str
) -> None:
    """No reply is more than four times as long as the first, which is the longest that is known before the others."""
    costs = [first, *(max(1, int(times * first)) for times in later)]
    if amount == "tokens":
        bill = Bill({"tokens": limit})
        await bill.calls(costs)
        assert bill.used().tokens < limit + max(costs) + PROMPT_TOKENS
    else:
        bill = Bill({"dollars": limit / 1e6})
        await bill.calls(costs)
        assert (bill.meter.total().dollars or 0.0) < (limit + 2.0 * max(costs) + PROMPT_TOKENS) / 1e6 + 1e-9


async def test_nothing_is_begun_beside_the_first_call_of_a_role_that_nothing_bounds() -> None:
    """With a limit far away: its reply may still be longer than all that is left."""
    bill = Bill({"tokens": 10**9})
    asked = [bill.calls([10] * 3, role="target"), bill.calls([10] * 3, role="optimizer")]
    first = asyncio.gather(*asked)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (bill.in_flight, bill.most_in_flight) == (1, 1)
    await first
    assert bill.most_in_flight > 1, "both have answered"


async def test_a_limit_of_calls_does_not_hold_the_first_ones_back() -> None:
    bill = Bill({"calls": 100})
    await bill.calls([30_000] * 8)
    assert bill.most_in_flight == 8


@given(cents=st.integers(1, 400), costs=st.lists(st.integers(1, 900_000), min_size=1, max_size=10))
async def test_so_is_a_limit_of_dollars(cents: int, costs: list[int]) -> None:
    bill = Bill({"dollars": cents / 100}, reply_tokens=900_000)
    await bill.calls(costs)
    paid = bill.meter.total().dollars
    assert paid is not None
    assert paid < cents / 100 + 2.0 * max(costs) / 1e6 + 1e-4


async def test_far_from_a_limit_calls_run_side_by_side_and_close_to_it_one_by_one() -> None:
    far, close = Bill({"tokens": 1_000_000}), Bill({"tokens": 5_000})
    await far.calls([10] * 9)
    await close.calls([10] * 9)
    assert (far.most_in_flight, close.most_in_flight) == (8, 1), "the first of them told how long replies are"


async def test_a_limit_of_one_role_does_not_bind_the_other() -> None:
    bill = Bill({"target": {"calls": 1}})
    assert len(await bill.calls([1, 1], role="target")) == 1
    assert await bill.calls([1, 1, 1], role="optimizer") == []
    assert (bill.used("target").calls, bill.used("optimizer").calls) == (1, 3)


class Measured(str):
    """A text that counts how often somebody asks how large it is."""

    asked = 0

    def isascii(self) -> bool:
        self.asked += 1
        return super().isascii()


@pytest.mark.parametrize(
    ("limits", "measured"),
    [
        ({}, 0),
        ({"calls": 100, "minutes": 5.0, "optimizer": {"tokens": 9, "dollars": 0.001}}, 0),
        ({"tokens": 10**9}, 1),
        ({"target": {"dollars": 10**9}}, 1),
    ],
)
async def test_a_prompt_is_measured_once_and_only_where_a_limit_is_compared_with_it(
    limits: dict[str, Any], measured: int
) -> None:
    """A long prompt takes a millisecond, ahead of a call that a run makes a hundred thousand times."""
    bill = Bill(limits)
    model = AllowedModel(Answering(bill, 1), bill.allowance, role="target")
    prompts = [Measured("one two") for _ in range(3)]
    asked = (model.reply(ChatRequest((Message("user", prompt),), REQUEST.place)) for prompt in prompts)
    await asyncio.gather(*asked)
    assert [prompt.asked for prompt in prompts] == [measured] * 3, "those that waited for another one as well"


async def test_an_unknown_price_is_not_bound_by_dollars_and_by_everything_else() -> None:
    bill = Bill({"dollars": 0.000001, "optimizer": {"calls": 2}})
    assert len(await bill.calls([1000] * 3, role="optimizer")) == 1
    assert bill.used().calls == 2


async def test_no_call_is_begun_after_the_last_minute() -> None:
    bill = Bill({"minutes": 2.0})
    bill.now = 119.9
    assert await bill.calls([1]) == []
    bill.now = 120.0
    assert await bill.calls([1]) == ["limits.minutes is 2, and they are over"]


async def test_a_call_that_fails_or_is_cancelled_gives_its_room_back() -> None:
    bill = Bill({"calls": 1})
    model = AllowedModel(Answering(bill, 1), bill.allowance, role="target")
    task = asyncio.create_task(model.reply(REQUEST))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await bill.calls([1]) == []


class BreaksOff(Answering):
    """A model whose answers break off, and are billed."""

    async def reply(self, request: ChatRequest) -> ChatReply:
        error = TransientModelError("broke off")
        error.paid = (PROMPT_TOKENS, 0, (await super().reply(request)).usage.output_tokens)
        raise error


@pytest.mark.parametrize("limits", [{"calls": 5}, {"tokens": 5_000}])
async def test_answers_that_broke_off_count(limits: dict[str, int]) -> None:
    bill = Bill(limits)
    inside = MeteredModel(BreaksOff(bill, 1_000), bill.pay, role="target", prices=PRICES)
    model = AllowedModel(inside, bill.allowance, role="target")
    done = await asyncio.gather(*(model.reply(REQUEST) for _ in range(50)), return_exceptions=True)
    assert sum(isinstance(error, TransientModelError) for error in done) == bill.used().calls == 5
    assert sum(isinstance(error, LimitReached) for error in done) == 45


class Begun(ChatModel):
    """A model that is answered for when it may be, and remembers which calls were begun."""

    def __init__(self, may_answer: asyncio.Event) -> None:
        self._may_answer = may_answer
        self.calls = self.answered = 0

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        return {}

    async def reply(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        await self._may_answer.wait()
        self.answered += 1
        return ChatReply("said")

    async def close(self) -> None:
        """Nothing to give back."""


async def test_once_an_end_was_asked_for_no_call_is_begun_and_those_in_flight_are_answered() -> None:
    may_answer = asyncio.Event()
    interruption = Interruption(told=lambda _: may_answer.set(), grace=3600.0)
    begun = Begun(may_answer)
    model = AllowedModel(begun, Bill({}).allowance, role="target")

    async def call(number: int) -> None:
        if number == 2:
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            assert begun.calls == 2
            interruption.ask("interrupted (TEST)", exit_code=130)
        await model.reply(REQUEST)

    with interruption.in_context(), pytest.raises(Interrupted):
        async with interruptible():
            await map_ordered(call, range(10), limit=3)
    assert (begun.calls, begun.answered) == (2, 2)


async def test_what_fails_beside_a_call_that_waits_for_its_turn_comes_first() -> None:
    """Such as a record that a full disk refuses: the call whose slot it frees is not begun any more."""
    slot, may_answer = asyncio.Semaphore(1), asyncio.Event()
    may_answer.set()
    begun = Begun(may_answer)
    model = AllowedModel(begun, Bill({}).allowance, role="target")

    async def call(number: int) -> None:
        async with slot:
            await model.reply(REQUEST)
        raise RunDirectoryError(f"call {number} cannot be recorded")

    with pytest.raises(RunDirectoryError, match="call 0"):
        await map_ordered(call, range(10), limit=3)
    assert begun.calls == 1
