"""At most N calls in flight for one role, first come, first served.

The limit holds around the call alone: a call that waits for another attempt gives its slot to others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType

from skillopt.deadline import standing_still
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.types import JsonValue


class Limiter:
    """The slots of one role, as an async context manager; the one place where a later version adapts their number.

    A call that is cancelled, in flight or in line, gives its slot or its place back. Standing in line costs a task
    nothing of its deadline.

    Args:
        concurrency: Most calls in flight, at least 1.
    """

    def __init__(self, concurrency: int) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}; it must be at least 1")
        self._slots = asyncio.Semaphore(concurrency)

    async def __aenter__(self) -> None:
        with standing_still():
            await self._slots.acquire()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._slots.release()


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
        async with self._limiter:
            return await self._model.reply(request)

    async def close(self) -> None:
        """Close the model behind it."""
        await self._model.close()
