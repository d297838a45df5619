"""A deadline for work, that stands still while the work can only wait.

A task must not fail because it stood in line for a slot, or because a provider asked for a pause. Whoever waits on
behalf of a task (a limiter, a retry) says so with `standing_still`; it need not know whose deadline it is, or whether
there is one: the deadline belongs to the task of asyncio that entered it and to those that it starts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Self


class Deadline:
    """Cancels what runs in its block and raises `TimeoutError` once the block has worked for so long.

    Of several things at once in one block, each that waits makes it stand still.

    Args:
        seconds: Seconds of work.

    Attributes:
        last_reason: Why the block waited last, as whoever waited put it; "" where nobody gave a reason.
    """

    def __init__(self, seconds: float) -> None:
        self._left = seconds
        self._timeout = asyncio.timeout(None)
        self._waiting = 0
        self._over = False
        self._token: Token[Deadline | None] | None = None
        self.last_reason = ""

    async def __aenter__(self) -> Self:
        await self._timeout.__aenter__()
        self._token = _current.set(self)
        self._run()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over = True
        if self._token is not None:
            _current.reset(self._token)
        await self._timeout.__aexit__(kind, error, trace)

    @contextmanager
    def standing_still(self, reason: str) -> Generator[None]:
        """Let the time of a block pass without counting it."""
        self.last_reason = reason or self.last_reason
        self._waiting += 1
        if self._waiting == 1:
            self._stop()
        try:
            yield
        finally:
            self._waiting -= 1
            if self._waiting == 0:
                self._run()

    def _run(self) -> None:
        if not (self._over or self._timeout.expired()):
            self._timeout.reschedule(asyncio.get_running_loop().time() + self._left)

    def _stop(self) -> None:
        when = self._timeout.when()
        if when is not None and not (self._over or self._timeout.expired()):
            self._left = max(0.0, when - asyncio.get_running_loop().time())
            self._timeout.reschedule(None)


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def standing_still(reason: str = "") -> Generator[None]:
    """Let the time of a block pass without counting it against the deadline around it, if there is one.

    Args:
        reason: Why there is something to wait for; a timeout that comes later names it.
    """
    deadline = _current.get()
    if deadline is None:
        yield
    else:
        with deadline.standing_still(reason):
            yield
