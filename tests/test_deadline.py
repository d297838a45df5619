"""A deadline counts work and not waiting."""

from __future__ import annotations

import asyncio

import pytest

from skillopt.deadline import Deadline, standing_still


async def test_work_that_takes_too_long_is_cancelled() -> None:
    """F1."""
    cancelled = False
    with pytest.raises(TimeoutError):
        async with Deadline(0.01):
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled = True
                raise
    assert cancelled


async def test_time_in_which_it_stands_still_does_not_count() -> None:
    async with Deadline(0.5):
        with standing_still(), standing_still():
            await asyncio.sleep(0.6)
        with standing_still():
            await asyncio.sleep(0.6)


async def test_waiting_gives_no_time_back() -> None:
    """What is left before a wait is what is left after it, however often it waits."""
    with pytest.raises(TimeoutError):
        async with Deadline(0.05):
            while True:
                await asyncio.sleep(0.001)
                with standing_still():
                    await asyncio.sleep(0)


async def test_it_belongs_to_whoever_entered_it_and_to_the_tasks_they_start() -> None:
    async def wait() -> None:
        with standing_still("its turn"):
            await asyncio.sleep(0.6)

    beside = asyncio.create_task(wait())
    with pytest.raises(TimeoutError):
        async with Deadline(0.05) as deadline:
            await beside
    assert deadline.last_reason == ""
    async with Deadline(0.5) as deadline, asyncio.TaskGroup() as group:
        group.create_task(wait())
        group.create_task(wait())
    assert deadline.last_reason == "its turn"


async def test_the_last_reason_stays() -> None:
    async with Deadline(1) as deadline:
        for reason in ("busy", "broken", ""):
            with standing_still(reason):
                pass
    assert deadline.last_reason == "broken"


async def test_cleaning_up_after_it_is_over_may_wait_too() -> None:
    with pytest.raises(TimeoutError):
        async with Deadline(0.01):
            try:
                await asyncio.Event().wait()
            finally:
                with standing_still():
                    await asyncio.sleep(0)


async def test_a_wait_that_outlives_the_block_disturbs_nothing() -> None:
    release = asyncio.Event()

    async def wait() -> None:
        with standing_still():
            await release.wait()

    async with Deadline(1):
        left = asyncio.create_task(wait())
        await asyncio.sleep(0)
    release.set()
    await left


async def test_without_a_deadline_there_is_nothing_to_stop() -> None:
    with standing_still("no matter"):
        await asyncio.sleep(0)


async def test_cancelling_from_outside_is_no_timeout() -> None:
    async def work() -> None:
        async with Deadline(60):
            with standing_still():
                await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
