"""What a run used, and what was paid for it."""

from __future__ import annotations

from dataclasses import replace
from datetime import date

from tests.support.values import rollout, unmeasured

from skillopt.config.model_settings import ModelSettings, PriceSettings, RoleSettings
from skillopt.models.base import ChatReply
from skillopt.models.meter import Payment
from skillopt.models.prices import Prices
from skillopt.run.accounts import Accounts
from skillopt.types import Place, Trajectory, Usage

PRICED = RoleSettings(name="compatible:any", price=PriceSettings(input=1.0, output=2.0))
USAGE = Usage(1, fresh_tokens=1_000_000, output_tokens=500_000)


def accounts() -> Accounts:
    models = ModelSettings(target=PRICED, optimizer=RoleSettings(name="compatible:other"))
    return Accounts(Prices(models, on=date(2025, 1, 1)))


def test_a_rollout_is_used_once_however_often_the_run_comes_back_to_it() -> None:
    """The gate, the next epoch and the final test share evidence; what was paid once is counted once."""
    kept = accounts()
    measured = replace(rollout(1, 1), trajectory=Trajectory((), "", usage=USAGE))
    kept.use_rollout(Place("gate", 1, 1), "key", measured)
    kept.use_rollout(Place("rollout", 1, 2), "key", measured)
    kept.use_rollout(Place("test", 1, 2), "other key", measured)
    assert [(row.stage, row.usage, row.dollars) for row in kept.used.rows()] == [
        ("gate", USAGE, 2.0),
        ("test", USAGE, 2.0),
    ]


def test_a_trajectory_that_could_not_be_scored_is_used_once_it_is() -> None:
    """A replay, which goes on without it, counts the same."""
    kept = accounts()
    done = replace(rollout(1, 1), trajectory=Trajectory((), "", usage=USAGE))
    failed = replace(done, score=None, failure=unmeasured(1).failure)
    for one in (failed, failed, done, done):
        kept.use_rollout(Place("gate", 1, 1), "key", one)
    assert [(row.usage, row.dollars) for row in kept.used.rows()] == [(USAGE, 2.0)]


def test_what_was_not_measured_is_not_used() -> None:
    kept = accounts()
    kept.use_rollout(Place("gate", 1, 1), "key", unmeasured(1))
    assert kept.used.rows() == ()


def test_every_reply_of_the_optimizer_is_used_whether_recorded_or_paid() -> None:
    """F122: an interrupted run shows the same spending; F11: an unknown price stays unknown."""
    kept = accounts()
    for key in ("one", "another", "one"):
        kept.use_reply(Place("reflect", 1, 1), key, ChatReply("", usage=USAGE))
    total = kept.used.total("optimizer")
    assert (total.usage.calls, total.dollars) == (2, None)
    assert kept.paid.rows() == ()


def test_the_running_totals_name_both_roles_and_keep_an_unknown_price_unknown() -> None:
    kept = accounts()
    kept.use_rollout(Place("gate", 1, 1), "key", replace(rollout(1, 1), trajectory=Trajectory((), "", usage=USAGE)))
    kept.use_reply(Place("reflect", 1, 1), "reply", ChatReply("", usage=USAGE))
    spent = kept.spent()
    assert spent.used_calls == {"target": 1, "optimizer": 1}
    assert spent.used_tokens == {"target": USAGE.tokens, "optimizer": USAGE.tokens}
    assert spent.paid_calls == {"target": 0, "optimizer": 0}
    assert spent.dollars == {"target": 2.0, "optimizer": None}


class Book:
    """A ledger in memory."""

    def __init__(self) -> None:
        self.rows: list[Payment] = []

    def put_payment(self, payment: Payment) -> None:
        self.rows.append(payment)

    def payments(self) -> list[Payment]:
        return list(self.rows)


def test_what_earlier_starts_paid_is_on_the_bill_and_not_in_what_this_start_paid() -> None:
    book = Book()
    models = ModelSettings(target=PRICED, optimizer=RoleSettings(name="compatible:other"))
    first, second = (Accounts(Prices(models, on=date(2025, 1, 1)), book) for _ in range(2))
    first.pay(Payment("target", Place("gate", 1, 1), USAGE, 2.0, retries=1))
    third = Accounts(Prices(models, on=date(2025, 1, 1)), book)
    third.pay(Payment("target", Place("gate", 1, 2), USAGE, 2.0))
    assert [accounts.billed.total().usage.calls for accounts in (first, second, third)] == [1, 0, 2]
    assert [accounts.paid.total().usage.calls for accounts in (first, second, third)] == [1, 0, 1]
    told = third.spent()
    assert (told.billed_calls, told.paid_calls) == ({"target": 2, "optimizer": 0}, {"target": 1, "optimizer": 0})
    assert told.billed_tokens == {"target": 2 * USAGE.tokens, "optimizer": 0}
    assert told.billed_dollars == {"target": 4.0, "optimizer": 0.0}
    assert len(book.rows) == 2


def test_an_evaluation_beside_the_run_is_written_down_and_is_not_on_its_bill() -> None:
    """Neither counts against the limits of the other."""
    book = Book()
    models = ModelSettings(target=PRICED, optimizer=RoleSettings(name="compatible:other"))
    Accounts(Prices(models, on=date(2025, 1, 1)), book).pay(Payment("target", Place("gate", 1, 1), USAGE, 2.0))
    evaluation = Accounts(Prices(models, on=date(2025, 1, 1)), book, goes_on=False)
    evaluation.pay(Payment("target", Place("eval"), USAGE, 2.0))
    run = Accounts(Prices(models, on=date(2025, 1, 1)), book)
    assert (evaluation.billed.total().usage.calls, run.billed.total().usage.calls) == (1, 1)
    assert [payment.place.stage for payment in run.payments()] == ["gate", "eval"]
