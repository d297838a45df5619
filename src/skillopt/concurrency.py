"""Doing many things at once without depending on who finishes first, and slow ones beside the event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Sequence
from contextvars import copy_context
from typing import TypeVar, cast

from skillopt.errors import LimitReached
from skillopt.interruption import under_way

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


async def map_ordered(
    function: Callable[[ItemT], Awaitable[ResultT]], items: Sequence[ItemT], *, limit: int
) -> list[ResultT]:
    """Apply an async function to all items, at most `limit` at once; the results keep the order of the items.

    Items are begun in their order. The first exception cancels everything that is under way, nothing more is begun, and
    it is raised by itself, not wrapped in a group: what ends a stage is one error with one message. A limit that is
    reached ends it in order: what is under way was begun below the limit, so it is finished and kept.

    Raises:
        LimitReached: Once nothing is under way any more.
    """
    results: dict[int, ResultT] = {}
    waiting = iter(enumerate(items))
    reached: list[LimitReached] = []

    async def work() -> None:
        for number, item in waiting:
            if reached:
                break
            try:
                results[number] = await function(item)
            except LimitReached as error:
                reached.append(error)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(limit, len(items))):
                group.create_task(work())
    except BaseExceptionGroup as group_error:
        raise group_error.exceptions[0] from None
    if reached:
        raise reached[0]
    return [results[number] for number in range(len(items))]


async def call_in_thread(function: Callable[[], ResultT], *, seconds: float) -> ResultT:
    """Call a function on a thread of its own, so that the event loop goes on meanwhile, and return what it returns.

    What it raises comes through. A thread cannot be ended: one that takes too long is left to itself and holds up no
    end of the process.

    Raises:
        TimeoutError: If it takes longer than `seconds`.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[ResultT] = loop.create_future()
    context = copy_context()

    def settle(result: ResultT | None, error: BaseException | None) -> None:
        if future.done():
            return  # Nobody waits any more.
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(cast("ResultT", result))

    def work() -> None:
        result: ResultT | None = None
        failed: BaseException | None = None
        try:
            result = context.run(function)
        except StopIteration as error:  # No future can hold one.
            failed = RuntimeError("the function raised StopIteration")
            failed.__cause__ = error
        except BaseException as error:  # noqa: BLE001 - raised again where it is waited for
            failed = error
        with contextlib.suppress(RuntimeError):  # The loop is closed.
            loop.call_soon_threadsafe(settle, result, failed)

    threading.Thread(target=work, daemon=True).start()
    with under_way():
        async with asyncio.timeout(seconds):
            return await future
