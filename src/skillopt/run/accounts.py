"""What a run used of both models, and what was paid for it, by this start and by all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from skillopt.events import Spent
from skillopt.models.base import ChatReply
from skillopt.models.meter import Meter, Payment
from skillopt.models.prices import Prices
from skillopt.types import Place, Role, Rollout


class Ledger(Protocol):
    """Where every payment is written down (`run/evidence.py`)."""

    def put_payment(self, payment: Payment) -> None:
        """Write a payment down; on disk when this returns."""
        ...

    def payments(self) -> Sequence[Payment]:
        """Return all payments, oldest first."""
        ...


class Accounts:
    """What the run used of both models, and what was paid for it.

    Args:
        prices: What the models cost.
        ledger: Where payments are written down; None keeps them for the length of this process.

    Attributes:
        used: Every reply the run used, once, whether the evidence answered or it was paid.
        paid: Every reply that was paid by this process.
        billed: Every reply that was paid by any start of the run, those that were of no use among them.
        prices: What the models cost.
    """

    def __init__(self, prices: Prices, ledger: Ledger | None = None) -> None:
        self.used = Meter()
        self.paid = Meter()
        self.billed = Meter()
        self.prices = prices
        self._ledger = ledger
        self._seen: set[str] = set()
        for payment in ledger.payments() if ledger else ():
            self.billed.add(payment.role, payment.place, payment.usage, payment.dollars)

    def pay(self, payment: Payment) -> None:
        """Count a reply that was paid just now."""
        if self._ledger is not None:
            self._ledger.put_payment(payment)
        for meter in (self.paid, self.billed):
            meter.add(payment.role, payment.place, payment.usage, payment.dollars)

    def use_rollout(self, place: Place, key: str, rollout: Rollout) -> None:
        """Count a rollout the first time the run uses it; later uses cost nothing."""
        if key in self._seen or rollout.trajectory is None or rollout.score is None:
            return
        self._seen.add(key)
        usage = rollout.trajectory.usage
        self.used.add("target", place, usage, self.prices.dollars("target", usage))

    def use_reply(self, place: Place, reply: ChatReply, recorded: bool) -> None:  # noqa: FBT001 - `ReplyObserver`
        """Count an optimizer reply, whether the evidence answered or it was paid."""
        self.used.add("optimizer", place, reply.usage, self.prices.dollars("optimizer", reply.usage))

    def spent(self) -> Spent:
        """Return the running totals, as those who watch are told them."""
        roles: tuple[Role, ...] = ("target", "optimizer")
        used = {role: self.used.total(role) for role in roles}
        return Spent(
            paid_calls={role: self.paid.total(role).usage.calls for role in roles},
            used_calls={role: used[role].usage.calls for role in roles},
            used_tokens={role: used[role].usage.tokens for role in roles},
            dollars={role: used[role].dollars for role in roles},
        )
