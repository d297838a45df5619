"""Counting calls, tokens and dollars."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from datetime import date
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config.model_settings import ModelSettings, PriceSettings, RoleSettings
from skillopt.errors import TransientModelError
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.meter import Meter, MeteredModel, MeterRow, Payment, Spending, total
from skillopt.models.prices import Prices
from skillopt.types import JsonValue, Message, Place, Role, Usage

Call = tuple[Role, Place, Usage, float | None]
TOKENS = st.integers(0, 10**9)
CALLS = st.lists(
    st.tuples(
        st.sampled_from(get_args(Role)),
        st.builds(Place, st.sampled_from(["rollout", "reflect", "gate"]), st.integers(0, 2), st.integers(0, 3)),
        st.builds(Usage, st.integers(1, 3), TOKENS, TOKENS, TOKENS),
        st.none() | st.floats(0, 1e6),
    ),
    max_size=15,
)


def metered(calls: list[Call]) -> Meter:
    meter = Meter()
    for call in calls:
        meter.add(*call)
    return meter


@given(st.data(), CALLS)
def test_the_tally_does_not_depend_on_who_finishes_first(data: st.DataObject, calls: list[Call]) -> None:
    assert metered(calls).rows() == metered(data.draw(st.permutations(calls))).rows()


@given(CALLS)
def test_every_total_is_the_sum_of_its_rows(calls: list[Call]) -> None:
    """F122: the sum over the ledger is what is reported, whichever way it is cut."""
    meter = metered(calls)
    rows = meter.rows()
    assert len({(row.role, row.stage, row.epoch, row.step) for row in rows}) == len(rows)
    assert meter.total() == total(rows)
    assert meter.total().usage == sum((call[2] for call in calls), Usage())
    for role in get_args(Role):
        assert meter.total(role) == total(row for row in rows if row.role == role)


def test_rows_tell_role_stage_epoch_step_and_kinds_of_tokens_apart() -> None:
    """F122, F123: what was spent where, fresh, cached and output tokens apart."""
    meter = metered(
        [
            ("target", Place("rollout", 1, 2, index=7), Usage(1, 10, 5, 3), 0.25),
            ("target", Place("rollout", 1, 2, index=8), Usage(1, 1, 2, 3), 0.5),
            ("optimizer", Place("reflect", 1, 2), Usage(1, 4, 0, 1), 1.0),
            ("target", Place("baseline"), Usage(1, 1, 1, 1), 0.125),
        ]
    )
    assert meter.rows() == (
        MeterRow("target", "baseline", 0, 0, Usage(1, 1, 1, 1), 0.125),
        MeterRow("optimizer", "reflect", 1, 2, Usage(1, 4, 0, 1), 1.0),
        MeterRow("target", "rollout", 1, 2, Usage(2, 11, 7, 6), 0.75),
    )
    assert meter.total("target") == Spending(Usage(3, 12, 8, 7), 0.875)
    assert meter.total("optimizer") == Spending(Usage(1, 4, 0, 1), 1.0)


def test_one_unknown_price_makes_its_sums_unknown_and_no_others() -> None:
    """F11: unknown is never counted as nothing."""
    meter = metered(
        [
            ("target", Place("rollout", 1, 1), Usage(1), 1.0),
            ("target", Place("rollout", 1, 1), Usage(1), None),
            ("target", Place("rollout", 1, 1), Usage(1), 1.0),
            ("optimizer", Place("reflect", 1, 1), Usage(1), 0.5),
        ]
    )
    assert [row.dollars for row in meter.rows()] == [0.5, None]
    assert meter.total("optimizer").dollars == 0.5
    assert meter.total("target") == Spending(Usage(3), None)
    assert meter.total() == Spending(Usage(4), None)


def test_sums_are_exact_in_any_order() -> None:
    sums = set[float | None]()
    for order in itertools.permutations([0.1, 0.2, 0.3, 1e9]):
        sums.add(metered([("target", Place("gate"), Usage(1), dollars) for dollars in order]).total().dollars)
    assert sums == {1000000000.6}


def test_an_empty_meter_has_spent_nothing() -> None:
    assert Meter().rows() == ()
    assert Meter().total() == Meter().total("target") == Spending(Usage(), 0.0)


@pytest.mark.parametrize("dollars", [-0.01, math.nan, math.inf])
def test_a_price_that_is_no_amount_is_refused(dollars: float) -> None:
    meter = Meter()
    with pytest.raises(ValueError, match="dollars is"):
        meter.add("target", Place("gate"), Usage(1), dollars)
    assert meter.rows() == ()


class Talkative:
    def __init__(self) -> None:
        self.closed = 0
        self.fails = False
        self.paid: tuple[int, int, int] | None = None

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        return {"provider": "vendor-x", "model": "foo"}

    async def reply(self, request: ChatRequest) -> ChatReply:
        if self.fails:
            error = TransientModelError("busy")
            error.paid = self.paid
            raise error
        return ChatReply("", usage=Usage(1, fresh_tokens=1_000_000))

    async def close(self) -> None:
        self.closed += 1


async def test_each_paid_reply_is_counted_with_its_price_and_a_failed_call_where_it_may_be_billed() -> None:
    price = PriceSettings(input=2.0, output=0.0)
    models = ModelSettings(
        optimizer=RoleSettings(name="vendor-x:foo", price=price), target=RoleSettings(name="vendor-x:foo")
    )
    meter, model = Meter(), Talkative()

    def pay(payment: Payment) -> None:
        meter.add(payment.role, payment.place, payment.usage, payment.dollars)

    optimizer, target = (
        MeteredModel(model, pay, role=role, prices=Prices(models, on=date(2026, 1, 1)))
        for role in ("optimizer", "target")
    )
    request = ChatRequest((Message("user", "hi"),), Place("reflect", 1, 1))
    assert await optimizer.reply(request) == await optimizer.reply(request)
    await target.reply(request)
    model.fails = True
    with pytest.raises(TransientModelError):
        await target.reply(request)
    model.paid = (7, 0, 3)
    with pytest.raises(TransientModelError):
        await target.reply(request)
    assert meter.total("target").usage == Usage(2, fresh_tokens=1_000_007, output_tokens=3)
    assert meter.total("optimizer") == Spending(Usage(2, fresh_tokens=2_000_000), 4.0)
    assert optimizer.identity == model.identity
    await optimizer.close()
    assert model.closed == 1


async def test_a_payment_says_whether_its_reply_was_of_use() -> None:
    told: list[bool] = []
    models = ModelSettings(optimizer=RoleSettings(name="vendor-x:foo"), target=RoleSettings(name="vendor-x:foo"))
    request = ChatRequest((Message("user", "hi"),), Place("reflect", 1, 1))
    for useful in (lambda reply: bool(reply.text), lambda reply: not reply.text):
        prices = Prices(models, on=date(2026, 1, 1))
        metered_model = MeteredModel(
            Talkative(), lambda payment: told.append(payment.useful), role="target", prices=prices, useful=useful
        )
        await metered_model.reply(request)
    assert told == [False, True]
