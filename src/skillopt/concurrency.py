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

    Items are begun in their order. The first exception cancels everything that is under way, nothing more is begun, and
    it is raised by itself, not wrapped in a group: what ends a stage is one error with one message.
    """
    results: dict[int, ResultT] = {}
    waiting = iter(enumerate(items))

    async def work() -> None:
        for number, item in waiting:
            results[number] = await function(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(limit, len(items))):
                group.create_task(work())
    except BaseExceptionGroup as group_error:
        raise group_error.exceptions[0] from None
    return [results[number] for number in range(len(items))]
