"""Another attempt where a failure may pass by itself, after a wait that grows and never falls in step with others'."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass

from skillopt.deadline import standing_still
from skillopt.digests import digest, generator
from skillopt.errors import ModelTimeoutError, RateLimitError, TransientModelError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.types import JsonValue, Place

FIRST_BACKOFF = 1.0
"""Most seconds before the second attempt; the bound doubles with every further one."""

MAX_BACKOFF = 30.0
"""Seconds that the bound of the backoff never exceeds."""

MAX_RETRY_AFTER = 300.0
"""Seconds to which a provider's longer Retry-After is shortened: a run should fail and say so, not sleep for hours."""

MOST_TIMEOUTS = 5
"""Most attempts that may end by a timeout: each costs minutes, and what is too slow so often stays so."""

_failed_attempts: ContextVar[int] = ContextVar("failed_attempts", default=0)


def asked_pause(error: TransientModelError) -> float:
    """Return the seconds that a provider asks to wait, from 0 to 300; 0 where it does not say."""
    asked = error.retry_after if isinstance(error, RateLimitError) else None
    return min(max(0.0, asked or 0.0), MAX_RETRY_AFTER)


def failed_attempts() -> int:
    """Return how many attempts of the request that is asked right now have failed; 0 outside of a retrying model."""
    return _failed_attempts.get()


@dataclass(frozen=True, slots=True)
class Retry:
    """One attempt that failed and will be followed by another.

    Attributes:
        place: Where in the run it was asked.
        attempt: Number of the attempt that failed, from 1.
        wait: Seconds until the next one.
        error: Why it failed.
    """

    place: Place
    attempt: int
    wait: float
    error: TransientModelError


class RetryingModel(ChatModel):
    """A model that is asked again after transient failures.

    The wait is uniform between 0 and min(30 s, 1 s * 2^(attempt - 1)) ("full jitter"), on top of what the provider
    asked for, itself shortened to 300 s. Waits are drawn from a generator of seed, request and attempt, so they
    depend on nothing that happens to run beside. They cost a task nothing of its deadline. Of all attempts at most 5
    may end by a timeout.

    Args:
        model: The model behind it.
        attempts: Most attempts in all, at least 1.
        seed: The run's seed.
        sleep: Waits a number of seconds; tests put their own here.
        on_retry: Told of every attempt that failed and will be followed by another.
    """

    def __init__(
        self,
        model: ChatModel,
        attempts: int,
        *,
        seed: int,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        on_retry: Callable[[Retry], None] | None = None,
    ) -> None:
        if attempts < 1:
            raise ValueError(f"attempts is {attempts}; it must be at least 1")
        self._model = model
        self._attempts = attempts
        self._seed = seed
        self._sleep = sleep
        self._on_retry = on_retry

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The identity of the model behind it: how often it is asked changes no reply."""
        return self._model.identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Ask until there is a reply, the failure is fatal or the attempts are used up.

        Raises:
            TransientModelError: The last one, with the number of attempts in its message.
            FatalModelError: At once.
        """
        attempt = 1
        timeouts = 0
        while True:
            count = _failed_attempts.set(attempt - 1)
            try:
                return await self._model.reply(request)
            except TransientModelError as error:
                timeouts += isinstance(error, ModelTimeoutError)
                if attempt == self._attempts or timeouts == MOST_TIMEOUTS:
                    if attempt > 1:
                        error.message = f"{error.message} (the last of {attempt} attempts)"
                    raise
                wait = self._wait(request, attempt, error)
                reason = error.message
                if self._on_retry is not None:
                    self._on_retry(Retry(request.place, attempt, wait, error))
            finally:
                _failed_attempts.reset(count)
            with standing_still(reason):
                await self._sleep(wait)
            attempt += 1

    async def close(self) -> None:
        """Close the model behind it."""
        await self._model.close()

    def _wait(self, request: ChatRequest, attempt: int, error: TransientModelError) -> float:
        bound = min(MAX_BACKOFF, FIRST_BACKOFF * 2.0 ** min(attempt - 1, 16))
        # The messages are part of the name, or all tasks of a batch would come back at the same moment.
        name = digest([[message.role, message.content] for message in request.messages])
        return asked_pause(error) + generator(self._seed, f"retry {name}", attempt).uniform(0.0, bound)
