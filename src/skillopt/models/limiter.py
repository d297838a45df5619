"""At most N calls in flight for one role, first come, first served, and fewer while the provider asks for fewer.

The limit holds around the call alone: a call that waits for another attempt gives its slot to others. How many may be
in flight follows what the provider says, in the way senders share a line (additive increase, multiplicative decrease;
Chiu and Jain 1989): a 429 halves it, a full round of replies raises it by one. Only a 429 says anything of how many are
too many, so no other failure changes it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager

from skillopt.deadline import standing_still
from skillopt.errors import RateLimitError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.models.retry import asked_pause
from skillopt.types import JsonValue

MOST_SPREAD = 10.0
"""Most seconds over which calls begin again after a pause; a shorter pause is followed by as long a spread."""


class Limiter:
    """The slots of one role.

    A call that is cancelled, in flight or in line, gives its slot or its place back. Standing in line costs a task
    nothing of its deadline. A pause that the provider asks for holds back every call that has not begun; after it they
    begin one by one, so that what waited does not arrive in one moment.

    Args:
        concurrency: Most calls in flight, at least 1.
        on_slowed: Told the first time that the provider asks for fewer calls: how many may be in flight then.
        clock: Seconds, from any beginning.
        sleep: Waits a number of seconds; tests put their own here.

    Attributes:
        allowed: How many calls may be in flight now, from 1 to `concurrency`.
        in_flight: How many are.
    """

    def __init__(
        self,
        concurrency: int,
        *,
        on_slowed: Callable[[int], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; it must be at least 1")
        self._most = concurrency
        self._on_slowed = on_slowed
        self._clock = clock
        self._sleep = sleep
        self.allowed = concurrency
        self.in_flight = 0
        # A lock lets its waiters in by their order, so whoever holds this one is the head of the line.
        self._head = asyncio.Lock()
        self._freed = asyncio.Event()
        self._round = 0
        self._replies = 0
        self._next_begin = self._spread_until = self._gap = 0.0

    @asynccontextmanager
    async def slot(self) -> AsyncGenerator[None]:
        """Wait for a slot; the block is the call, and what it raises tells how the provider took it."""
        with standing_still():
            await self._begin()
        begun_in = self._round
        try:
            yield
        except RateLimitError as error:
            self._slow_down(error, begun_in)
            raise
        else:
            self._speed_up(begun_in)
        finally:
            self.in_flight -= 1
            self._freed.set()

    async def _begin(self) -> None:
        async with self._head:
            while True:
                if self.in_flight >= self.allowed:
                    self._freed.clear()
                    await self._freed.wait()
                elif (wait := self._next_begin - self._clock()) > 0:
                    await self._sleep(wait)
                else:
                    break
            self.in_flight += 1
            if (now := self._clock()) < self._spread_until:
                self._next_begin = now + self._gap

    def _slow_down(self, error: RateLimitError, begun_in: int) -> None:
        # What began before the last decrease says nothing of the number that is allowed since.
        if error.status == 429 and begun_in == self._round:
            self.allowed = max(1, self.allowed // 2)
            self._round += 1
            self._replies = 0
            if self._on_slowed is not None and self._round == 1:
                self._on_slowed(self.allowed)
        pause = asked_pause(error)
        over = self._clock() + pause
        if pause and over > self._next_begin:
            spread = min(pause, MOST_SPREAD)
            self._next_begin, self._spread_until, self._gap = over, over + spread, spread / self.allowed

    def _speed_up(self, begun_in: int) -> None:
        if begun_in != self._round or self.allowed == self._most:
            return
        self._replies += 1
        if self._replies == self.allowed:
            self.allowed += 1
            self._replies = 0


class LimitedModel(ChatModel):
    """A model whose calls take a slot of a limiter.

    Args:
        model: The model behind it.
        limiter: Its slots; models of one role share one.
    """

    def __init__(self, model: ChatModel, limiter: Limiter) -> None:
        self._model = model
        self._limiter = limiter

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The identity of the model behind it: waiting in line changes no reply."""
        return self._model.identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Wait for a slot, then ask."""
        async with self._limiter.slot():
            return await self._model.reply(request)

    async def close(self) -> None:
        """Close the model behind it."""
        await self._model.close()
