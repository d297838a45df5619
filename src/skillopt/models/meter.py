"""Counting what models were asked: calls, tokens and dollars by role, stage, epoch and step.

A meter only counts. What a reply costs is known by `prices.py`; which limits there are is not decided here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from skillopt.errors import ModelError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.models.retry import failed_attempts
from skillopt.types import JsonValue, Place, Role, Usage

if TYPE_CHECKING:
    from skillopt.models.prices import Prices


@dataclass(frozen=True, slots=True)
class MeterRow:
    """What one role used in one stage of one step.

    Attributes:
        role: Target or optimizer.
        stage: The method's word, as in `Place.stage`.
        epoch: From 1; 0 before training.
        step: From 1 over the whole run; 0 before training.
        usage: Calls, and tokens apart by fresh, cached and output.
        dollars: Their price; None as soon as the price of one call is unknown.
    """

    role: Role
    stage: str
    epoch: int
    step: int
    usage: Usage
    dollars: float | None


@dataclass(frozen=True, slots=True)
class Payment:
    """One call that was paid.

    Attributes:
        role: Who was asked.
        place: Where in the run.
        usage: One call and its tokens.
        dollars: Its price; None where it is unknown.
        retries: Attempts of the same request that failed before it.
        key: What it was paid for: the key of the reply or of the rollout; "" where that is not known.
        useful: Whether its reply went into a record; a blank one, and an answer that broke off, are paid all the same.
    """

    role: Role
    place: Place
    usage: Usage
    dollars: float | None
    retries: int = 0
    key: str = ""
    useful: bool = True


@dataclass(frozen=True, slots=True)
class Spending:
    """A total: calls, tokens, and dollars or None where one of the prices is unknown."""

    usage: Usage
    dollars: float | None


def total(rows: Iterable[MeterRow]) -> Spending:
    """Return the sum of rows; the same for any order of them."""
    usage = Usage()
    prices: list[float | None] = []
    for row in rows:
        usage += row.usage
        prices.append(row.dollars)
    known = [price for price in prices if price is not None]
    return Spending(usage, math.fsum(known) if len(known) == len(prices) else None)


class Meter:
    """A tally of calls. What it shows does not depend on the order in which they came."""

    def __init__(self) -> None:
        self._usage: dict[tuple[Role, str, int, int], Usage] = {}
        # Exact, so that the sum is the same whoever finishes first.
        self._dollars: dict[tuple[Role, str, int, int], Fraction | None] = {}
        # Kept beside the rows, since who watches a run asks for them at every call.
        self._total_usage: dict[Role, Usage] = {}
        self._total_dollars: dict[Role, Fraction | None] = {}

    def add(self, role: Role, place: Place, usage: Usage, dollars: float | None) -> None:
        """Count the usage of one or more calls that belong to a place.

        Args:
            role: Who was asked.
            place: Where in the run; stage, epoch and step are told apart.
            usage: Calls and tokens.
            dollars: Their price, at least 0, or None where it is unknown.

        Raises:
            ValueError: If `dollars` is negative or no finite number.
        """
        if dollars is not None and not (math.isfinite(dollars) and dollars >= 0):
            raise ValueError(f"dollars is {dollars!r}; it must be a finite number, 0 or more")
        price = None if dollars is None else Fraction(dollars)
        key = (role, place.stage, place.epoch, place.step)
        self._usage[key] = self._usage.get(key, Usage()) + usage
        self._dollars[key] = _sum(self._dollars.get(key, Fraction(0)), price)
        self._total_usage[role] = self._total_usage.get(role, Usage()) + usage
        self._total_dollars[role] = _sum(self._total_dollars.get(role, Fraction(0)), price)

    def rows(self) -> tuple[MeterRow, ...]:
        """Return the tally, ordered by epoch, step, role and stage."""
        keys = sorted(self._usage, key=lambda key: (key[2], key[3], key[0], key[1]))
        return tuple(MeterRow(*key, self._usage[key], _as_float(self._dollars[key])) for key in keys)

    def total(self, role: Role | None = None) -> Spending:
        """Return the total, of one role or of both."""
        usage = Usage()
        dollars: Fraction | None = Fraction(0)
        for each in (role,) if role is not None else self._total_usage:
            usage += self._total_usage.get(each, Usage())
            dollars = _sum(dollars, self._total_dollars.get(each, Fraction(0)))
        return Spending(usage, _as_float(dollars))


def _sum(one: Fraction | None, other: Fraction | None) -> Fraction | None:
    return None if one is None or other is None else one + other


def _as_float(dollars: Fraction | None) -> float | None:
    return None if dollars is None else float(dollars)


class MeteredModel:
    """A model whose replies are counted as paid, those that are of no use too.

    So is an answer that began as a success and was none, such as one that broke off: the provider may bill it. What was
    refused, and what never answered, costs nothing.

    Args:
        model: The model that is asked; one that answers from records belongs outside of the meter.
        pay: Told of every payment.
        role: Target or optimizer.
        prices: What its tokens cost.
        useful: Whether a reply is of use to who asks.
    """

    def __init__(
        self,
        model: ChatModel,
        pay: Callable[[Payment], None],
        *,
        role: Role,
        prices: Prices,
        useful: Callable[[ChatReply], bool] = lambda _: True,
    ) -> None:
        self._model = model
        self._pay = pay
        self._role: Role = role
        self._prices = prices
        self._useful = useful

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The identity of the model behind it."""
        return self._model.identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Ask the model and count its reply.

        Raises:
            ModelError: As the model behind it does; what may have been paid for it is counted.
        """
        try:
            reply = await self._model.reply(request)
        except ModelError as error:
            if error.paid is not None:
                self._count(request.place, Usage(1, *error.paid), useful=False)
            raise
        self._count(request.place, reply.usage, useful=self._useful(reply))
        return reply

    def _count(self, place: Place, usage: Usage, *, useful: bool) -> None:
        dollars = self._prices.dollars(self._role, usage)
        self._pay(Payment(self._role, place, usage, dollars, failed_attempts(), useful=useful))

    async def close(self) -> None:
        """Close the model behind it."""
        await self._model.close()
