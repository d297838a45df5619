"""Doing many things at once without depending on who finishes first."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


async def map_ordered(
    function: Callable[[ItemT], Awaitable[ResultT]], items: Sequence[ItemT], *, limit: int
) -> list[ResultT]:
    """Apply an async function to all items, at most `limit` at once; the results keep the order of the items.

    The first exception cancels everything that is under way and is raised by itself, not wrapped in a group: what
    ends a stage is one error with one message.
    """
    slots = asyncio.Semaphore(limit)

    async def one(item: ItemT) -> ResultT:
        async with slots:
            return await function(item)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(item)) for item in items]
    except BaseExceptionGroup as group_error:
        raise _first(group_error) from None
    return [task.result() for task in tasks]


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
