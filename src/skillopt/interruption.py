"""An interruption: somebody asks what is running to end, and it ends in order and soon.

From then on no call to a model is begun. What is under way, calls and the scoring of what they brought, gets a short
grace, so that what is paid is recorded. As soon as nothing is under way any more, and at the latest when the grace is
over, whatever is left is cancelled, be it a hanging call, a pause between attempts or a place in a queue.

Who asks (`cli/signals.py`: a signal) and what is written at the end (`api.py`) is not decided here. Without an
interruption in the context, as in a program that calls `skillopt.train`, nothing here does anything.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from skillopt.deadline import standing_still
from skillopt.errors import Interrupted, MeasurementError, ModelError

GRACE_SECONDS = 5.0
"""Most seconds that what is under way may still take."""

SETTLING_SECONDS = 0.1
"""Seconds without anything under way, after which what came last is recorded and nothing more is waited for."""

Told = Callable[[str], None]
"""Told, in a sentence for a person, that an end was asked for and what it waits for."""


@dataclass(eq=False, slots=True)
class _Block:
    """A block that an interruption ends, and the task that runs it."""

    task: asyncio.Task[object]
    told: Told | None
    cancelled: bool = False


class Interruption:
    """One request to end. It takes effect in the blocks of `interruptible`, innermost first, once.

    Args:
        told: Told where what is under way is waited for; a block may name somebody else.
        grace: Seconds that what is under way may still take.

    Attributes:
        exit_code: What the process shall return that ends by it; 0 while nobody asked.
    """

    def __init__(self, *, told: Told | None = None, grace: float = GRACE_SECONDS) -> None:
        self._told = told
        self._grace = grace
        self._reason = ""
        self._blocks: list[_Block] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._under_way = 0
        self._over = False
        self.exit_code = 0

    @property
    def asked(self) -> bool:
        """Whether somebody asked to end."""
        return bool(self._reason)

    def ask(self, reason: str, *, exit_code: int) -> None:
        """Ask to end; safe from a signal handler and from another thread. Only the first request counts.

        Args:
            reason: What asks, in a few words, such as "interrupted (SIGINT)".
            exit_code: What the process shall return.
        """
        if self.asked:
            return
        self._reason, self.exit_code = reason, exit_code
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # The loop is closed: all is over.
                self._loop.call_soon_threadsafe(self._begin)

    @contextmanager
    def in_context(self) -> Generator[None]:
        """Be the interruption of everything that is called in the block, and of the tasks that it starts."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def error(self) -> Interrupted:
        """Return the error that ends what was asked to end."""
        return Interrupted(self._reason, exit_code=self.exit_code)

    @asynccontextmanager
    async def block(self, told: Told | None) -> AsyncGenerator[None]:
        """See `interruptible`."""
        if self.asked:
            raise self.error()
        task = asyncio.current_task()
        assert task is not None, "a coroutine runs in a task"
        self._loop, before = asyncio.get_running_loop(), task.cancelling()
        block = _Block(task, told or self._told)
        self._blocks.append(block)
        try:
            yield
        except (asyncio.CancelledError, ModelError, MeasurementError) as error:
            # Whoever stops a run may stop its provider too, so what fails now fails for that reason.
            ours = block.cancelled and task.cancelling() <= before + 1
            if not (ours if isinstance(error, asyncio.CancelledError) else self.asked):
                raise
            raise self.error() from error
        finally:
            self._blocks.remove(block)
            if block.cancelled:
                task.uncancel()

    @contextmanager
    def working(self) -> Generator[None]:
        """See `under_way`."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._settle()

    async def hold_back(self) -> None:
        """See `may_begin`."""
        if self._over:
            raise self.error()
        if self.asked:
            # Not an error: that would cancel the calls beside it, which have their grace.
            with standing_still("the run was asked to end"):
                await asyncio.get_running_loop().create_future()

    def _begin(self) -> None:
        assert self._loop is not None, "it was set by the first block"
        self._loop.call_later(self._grace, self._end)
        if self._under_way:
            for block in self._innermost():
                if block.told is not None:
                    block.told(f"{self._reason}: nothing more is begun; what is under way has {self._grace:g} s to end")
        self._settle()

    def _settle(self) -> None:
        if self.asked and not self._under_way and self._loop is not None and not self._loop.is_closed():
            self._loop.call_later(SETTLING_SECONDS, lambda: None if self._under_way else self._end())

    def _end(self) -> None:
        if not self._over:
            self._over = True
            for block in self._innermost():
                block.cancelled = True
                block.task.cancel()

    def _innermost(self) -> list[_Block]:
        return list({block.task: block for block in self._blocks}.values())


_current: ContextVar[Interruption | None] = ContextVar("interruption", default=None)


@asynccontextmanager
async def interruptible(*, told: Told | None = None) -> AsyncGenerator[None]:
    """Let the interruption of the context, if there is one, end the block.

    Args:
        told: Told, in place of whom the interruption names, where what is under way is waited for.

    Raises:
        Interrupted: If an end was asked for; what is under way has then ended, or was cancelled after its grace.
    """
    current = _current.get()
    if current is None:
        yield
        return
    async with current.block(told):
        yield


@contextmanager
def under_way() -> Generator[None]:
    """Have the block finished by an interruption rather than cancelled, as far as its grace reaches."""
    current = _current.get()
    if current is None:
        yield
        return
    with current.working():
        yield


async def may_begin() -> None:
    """Return if something that costs may be begun; after an interruption wait until it is cancelled.

    It lets everybody else take a turn: where what ran beside has just failed, on a full disk for one, the cancellation
    that follows comes first, and nothing more is paid.

    Raises:
        Interrupted: If the interruption has ended everything already.
    """
    await asyncio.sleep(0)
    current = _current.get()
    if current is not None:
        await current.hold_back()
