"""Limits: what a run may still use, asked ahead of every call.

A call is begun beside others only if what was paid, what is in flight and the call itself stay below every limit,
as far as they can be told ahead; where it does not fit it waits until nothing else is in flight, and is begun alone as
long as the limit is not reached. What is certain by that:

    calls              never exceeded
    tokens, dollars    exceeded by at most one call's own cost: where the role has `max_tokens`, always; where it has
                       none, as long as no reply is more than four times as long as the longest that the role gave
                       before in this start of the run. Nothing is known of its first reply, so that call runs alone.

Prompts are estimated (`skill/size.py`); what is paid is counted from the provider's own numbers.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from fractions import Fraction

from skillopt.config.limit_settings import AmountSettings, LimitSettings
from skillopt.deadline import standing_still
from skillopt.errors import LimitReached, ModelError
from skillopt.interruption import may_begin, under_way
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.models.meter import Meter
from skillopt.models.prices import Prices
from skillopt.skill.size import estimate_tokens
from skillopt.types import JsonValue, Role, Usage

_LEAST_REPLY_TOKENS = 4096
"""Tokens of a reply that is expected, at least, of a model that has no limit of its own."""
_TIMES_LONGEST = 4
"""How much longer than the longest reply so far the next one of such a model is expected to be."""


@dataclass(frozen=True, slots=True)
class _Expected:
    """A call in flight, as it was estimated; `bounded` is False where nothing is known of the length of its reply."""

    role: Role
    tokens: int
    dollars: Fraction
    bounded: bool


@dataclass(frozen=True, slots=True)
class _Limit:
    """One limit: its key, whose calls count, and the amounts."""

    key: str
    role: Role | None
    most: AmountSettings


class Allowance:
    """What may still be used.

    Args:
        settings: The limits.
        paid: What was paid by every start of the run so far; read, never written.
        prices: What tokens cost.
        reply_tokens: For each role the most tokens of one reply, where the configuration says so.
        clock: Seconds, from any beginning.
    """

    def __init__(
        self,
        settings: LimitSettings,
        *,
        paid: Meter,
        prices: Prices,
        reply_tokens: Mapping[Role, int | None],
        clock: Callable[[], float],
    ) -> None:
        self._limits = (
            _Limit("limits", None, settings),
            _Limit("limits.target", "target", settings.target),
            _Limit("limits.optimizer", "optimizer", settings.optimizer),
        )
        self._paid = paid
        self._prices = prices
        self._reply_tokens = reply_tokens
        self._clock = clock
        self._began = clock()
        self._longest: dict[Role, int] = {}
        self._in_flight: list[_Expected] = []
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def one_call(self, role: Role, request: ChatRequest) -> AsyncGenerator[Callable[[Usage], None]]:
        """Wait until a call may be begun; the block is the call, and it says what it used.

        Raises:
            LimitReached: If a limit leaves no room for it; the message names it.
        """
        prompt = self._prompt_tokens(role, request)
        expected = self._expected(role, prompt)
        async with self._changed:
            with standing_still("waiting for what is in flight, close to a limit"):
                while not self._fits(expected):
                    await self._changed.wait()
                    expected = self._expected(role, prompt)  # A longer reply may have come meanwhile.
            self._in_flight.append(expected)
        try:
            yield lambda usage: self._learn(role, usage)
        finally:
            self._in_flight.remove(expected)
            async with self._changed:
                self._changed.notify_all()

    def _learn(self, role: Role, usage: Usage) -> None:
        self._longest[role] = max(self._longest.get(role, 0), usage.output_tokens)

    def _prompt_tokens(self, role: Role, request: ChatRequest) -> int:
        """Estimate a prompt, once for a call, and only where a limit is compared with it: it takes a moment."""
        most = [limit.most for limit in self._limits if limit.role in (None, role)]
        if all(amounts.tokens is None and amounts.dollars is None for amounts in most):
            return 0
        return sum(estimate_tokens(message.content) for message in request.messages)

    def _expected(self, role: Role, prompt: int) -> _Expected:
        answer = self._reply_tokens.get(role)
        bounded = answer is not None or role in self._longest
        if answer is None:
            answer = max(_TIMES_LONGEST * self._longest.get(role, 0), _LEAST_REPLY_TOKENS)
        usage = Usage(1, fresh_tokens=prompt, output_tokens=answer)
        return _Expected(role, usage.tokens, Fraction(self._prices.dollars(role, usage) or 0.0), bounded)

    def _fits(self, expected: _Expected) -> bool:
        """Whether every limit has room for the call now; False where it may have once others are done."""
        return all(self._has_room(limit, expected) for limit in self._limits if limit.role in (None, expected.role))

    def _has_room(self, limit: _Limit, expected: _Expected) -> bool:
        spending = self._paid.total(limit.role)
        others = [call for call in self._in_flight if limit.role in (None, call.role)]
        dollars = None if spending.dollars is None else Fraction(spending.dollars)
        used: tuple[tuple[str, float | None, Fraction | int | None, Fraction | int, Fraction | int], ...] = (
            ("calls", limit.most.calls, spending.usage.calls, len(others), 1),
            ("tokens", limit.most.tokens, spending.usage.tokens, sum(c.tokens for c in others), expected.tokens),
            ("dollars", limit.most.dollars, dollars, sum(c.dollars for c in others), expected.dollars),
        )
        room = True
        for name, most, paid, in_flight, own in used:
            if most is None or paid is None:
                continue
            if paid >= most:
                raise LimitReached(f"{limit.key}.{name} is {most:.10g}, and {_shown(paid)} were used")
            known = name == "calls" or all(call.bounded for call in (*others, expected))
            room = room and (not others or (known and paid + in_flight + own <= most))
        minutes = limit.most.minutes
        if minutes is not None and self._clock() - self._began >= 60.0 * minutes:
            raise LimitReached(f"{limit.key}.minutes is {minutes:g}, and they are over")
        return room


def _shown(amount: Fraction | int) -> str:
    """Return what was used: calls and tokens as whole numbers, dollars with four digits that count at least."""
    if not isinstance(amount, Fraction):
        return f"{amount:,}"
    return f"${float(amount):,.4f}" if amount >= 1 else f"${float(amount):.4g}"


class AllowedModel(ChatModel):
    """A model whose calls need room below the limits. It stands right around the meter, inside the limiter.

    Args:
        model: The model behind it.
        allowance: The limits, shared by both roles.
        role: Target or optimizer.
    """

    def __init__(self, model: ChatModel, allowance: Allowance, *, role: Role) -> None:
        self._model = model
        self._allowance = allowance
        self._role: Role = role

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The identity of the model behind it: a limit changes no reply."""
        return self._model.identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Ask the model once there is room.

        Raises:
            LimitReached: If there will be none.
            ModelError: As the model behind it does.
        """
        async with self._allowance.one_call(self._role, request) as used:
            await may_begin()
            try:
                with under_way():
                    reply = await self._model.reply(request)
            except ModelError as error:
                if error.paid is not None and error.paid[-1]:
                    used(Usage(1, *error.paid))
                raise
            used(reply.usage)
            return reply

    async def close(self) -> None:
        """Close the model behind it."""
        await self._model.close()
