"""What a run used of both models, and what this process paid for it."""

from __future__ import annotations

from skillopt.events import Spent
from skillopt.models.base import ChatReply
from skillopt.models.meter import Meter
from skillopt.models.prices import Prices
from skillopt.types import Place, Role, Rollout


class Accounts:
    """What the run used of both models, and what this process paid for it.

    Attributes:
        used: Every reply the run used, once, whether the evidence answered or it was paid.
        paid: Every reply that was paid by this process.
        prices: What the models cost.
    """

    def __init__(self, prices: Prices) -> None:
        self.used = Meter()
        self.paid = Meter()
        self.prices = prices
        self._seen: set[str] = set()

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
        """Return the running totals, by role."""
        roles: tuple[Role, ...] = ("target", "optimizer")
        used = {role: self.used.total(role) for role in roles}
        return Spent(
            paid_calls={role: self.paid.total(role).usage.calls for role in roles},
            used_calls={role: used[role].usage.calls for role in roles},
            used_tokens={role: used[role].usage.tokens for role in roles},
            dollars={role: used[role].dollars for role in roles},
        )
