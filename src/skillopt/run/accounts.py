"""What a run used of both models, and what was paid for it, by this start and by all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from skillopt.events import Spent
from skillopt.models.base import ChatReply
from skillopt.models.meter import Meter, Payment
from skillopt.models.prices import Prices
from skillopt.types import Place, Role, Rollout, Usage

OUTSIDE_OF_A_RUN = frozenset({"eval", "check"})
"""Stages of calls that share a run's evidence and are none of its training: they are not on its bill."""


class PaymentBook(Protocol):
    """Where every payment is written down (`run/evidence.py`)."""

    def put_payment(self, payment: Payment) -> None:
        """Write a payment down; on disk no later than the record that it was paid for."""
        ...

    def payments(self) -> Sequence[Payment]:
        """Return all payments, oldest first."""
        ...


@dataclass(frozen=True, slots=True)
class Use:
    """A reply or a rollout that the run used, at the place that came to it first.

    Attributes:
        role: Whose it is.
        place: Where in the run it was used first.
        key: Under which it is evidence.
        usage: What was asked for it.
        dollars: Its price; None where it is unknown.
    """

    role: Role
    place: Place
    key: str
    usage: Usage
    dollars: float | None


class Accounts:
    """What the run used of both models, and what was paid for it.

    Args:
        prices: What the models cost.
        book: Where payments are written down; None keeps them for the length of this process.
        goes_on: Whether what earlier starts paid for the run stands on this bill too.

    Attributes:
        used: Every reply the run used, once, whether the evidence answered or it was paid.
        paid: Every reply that was paid by this process.
        billed: Every reply that was paid by any start of the run, those that were of no use among them.
        prices: What the models cost.
    """

    def __init__(self, prices: Prices, book: PaymentBook | None = None, *, goes_on: bool = True) -> None:
        self.used = Meter()
        self.paid = Meter()
        self.billed = Meter()
        self.prices = prices
        self._book = book
        self._uses: dict[str, Use] = {}
        for payment in book.payments() if book and goes_on else ():
            if payment.place.stage not in OUTSIDE_OF_A_RUN:
                self.billed.add(payment.role, payment.place, payment.usage, payment.dollars)

    def pay(self, payment: Payment) -> None:
        """Count a reply that was paid just now."""
        if self._book is not None:
            self._book.put_payment(payment)
        for meter in (self.paid, self.billed):
            meter.add(payment.role, payment.place, payment.usage, payment.dollars)

    def use_rollout(self, place: Place, key: str, rollout: Rollout) -> None:
        """Count a rollout the first time the run uses it; later uses cost nothing."""
        if rollout.trajectory is not None and rollout.score is not None:
            self._use("target", place, key, rollout.trajectory.usage)

    def use_reply(self, place: Place, key: str, reply: ChatReply) -> None:
        """Count an optimizer reply the first time the run uses it, whether the evidence answered or it was paid."""
        self._use("optimizer", place, key, reply.usage)

    def _use(self, role: Role, place: Place, key: str, usage: Usage) -> None:
        if key in self._uses:
            return
        use = Use(role, place, key, usage, self.prices.dollars(role, usage))
        self._uses[key] = use
        self.used.add(role, place, usage, use.dollars)

    def uses(self) -> tuple[Use, ...]:
        """Return what the run used, in the order in which it came to it."""
        return tuple(self._uses.values())

    def payments(self) -> tuple[Payment, ...]:
        """Return what is written down of all payments that were ever made on this evidence, oldest first."""
        return () if self._book is None else tuple(self._book.payments())

    def spent(self) -> Spent:
        """Return the running totals, as those who watch are told them."""
        roles: tuple[Role, ...] = ("target", "optimizer")
        used, billed = ({role: meter.total(role) for role in roles} for meter in (self.used, self.billed))
        return Spent(
            paid_calls={role: self.paid.total(role).usage.calls for role in roles},
            used_calls={role: used[role].usage.calls for role in roles},
            used_tokens={role: used[role].usage.tokens for role in roles},
            dollars={role: used[role].dollars for role in roles},
            billed_calls={role: billed[role].usage.calls for role in roles},
            billed_tokens={role: billed[role].usage.tokens for role in roles},
            billed_dollars={role: billed[role].dollars for role in roles},
        )
