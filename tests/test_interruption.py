"""An end that is asked for: nothing more is begun, what is under way is finished, the rest is cancelled."""

from __future__ import annotations

import asyncio
import threading

import pytest

from skillopt.concurrency import call_in_thread, map_ordered
from skillopt.deadline import Deadline
from skillopt.errors import FatalModelError, Interrupted, RunDirectoryError
from skillopt.interruption import GRACE_SECONDS, Interruption, interruptible, may_begin, under_way

LONG = 3600.0


def ask(interruption: Interruption) -> None:
    interruption.ask("interrupted (TEST)", exit_code=130)


async def test_what_is_under_way_is_finished_and_nothing_more_is_begun() -> None:
    told: list[str] = []
    answers = [asyncio.Event(), asyncio.Event()]
    both_begun = asyncio.Event()

    def answer_both(text: str) -> None:
        told.append(text)
        for answer in answers:
            answer.set()

    interruption = Interruption(told=answer_both, grace=LONG)
    begun: list[int] = []
    recorded: list[int] = []

    async def call(number: int) -> None:
        if number == 2:
            await both_begun.wait()
            ask(interruption)
        await may_begin()
        begun.append(number)
        if len(begun) == 2:
            both_begun.set()
        with under_way():
            await answers[number].wait()
        recorded.append(number)

    with interruption.in_context(), pytest.raises(Interrupted, match=r"^interrupted \(TEST\)") as caught:
        async with interruptible():
            await map_ordered(call, range(6), limit=3)
    assert (begun, recorded) == ([0, 1], [0, 1])
    assert caught.value.exit_code == 130
    assert told == [f"interrupted (TEST): nothing more is begun; what is under way has {LONG:g} s to end"]


async def test_what_hangs_is_cancelled_when_its_grace_is_over() -> None:
    interruption = Interruption(grace=0.0)
    recorded: list[int] = []
    with interruption.in_context(), pytest.raises(Interrupted):
        async with interruptible():
            asyncio.get_running_loop().call_soon(ask, interruption)
            with under_way():
                await asyncio.Event().wait()
            recorded.append(1)
    assert recorded == []


async def test_what_only_waits_is_cancelled_at_once_and_nobody_is_told_to_wait() -> None:
    told: list[str] = []
    interruption = Interruption(told=told.append, grace=LONG)
    with interruption.in_context(), pytest.raises(Interrupted):
        async with interruptible():
            asyncio.get_running_loop().call_soon(ask, interruption)
            await asyncio.Event().wait()
    assert told == []


async def test_a_scorer_on_its_thread_is_finished_too() -> None:
    interruption = Interruption(grace=LONG)
    may_end = threading.Event()
    scored: list[str] = []

    def score() -> str:
        ask(interruption)  # from another thread
        may_end.wait(30)
        return "scored"

    async def work() -> None:
        scored.append(await call_in_thread(score, seconds=LONG))
        await asyncio.Event().wait()

    with interruption.in_context(), pytest.raises(Interrupted):
        async with interruptible(told=lambda _: may_end.set()):
            await work()
    assert scored == ["scored"]


async def test_the_innermost_block_ends_and_its_end_is_in_peace() -> None:
    """Around it the end is written, with calls to nobody: an interruption happens once."""
    interruption = Interruption(grace=0.0)
    ends: list[str] = []
    with interruption.in_context():
        async with interruptible():
            try:
                async with interruptible():
                    ask(interruption)
                    await asyncio.Event().wait()
            except Interrupted:
                await asyncio.sleep(0.001)
                ends.append("written")
                with pytest.raises(Interrupted):
                    await may_begin()
    task = asyncio.current_task()
    assert task is not None and task.cancelling() == 0
    assert ends == ["written"]


async def test_what_was_asked_to_end_before_it_began_does_not_begin() -> None:
    interruption = Interruption()
    ask(interruption)
    interruption.ask("too late", exit_code=143)
    with interruption.in_context(), pytest.raises(Interrupted, match="TEST"):
        async with interruptible():
            raise AssertionError
    assert interruption.exit_code == 130


async def test_a_provider_that_is_stopped_with_the_run_is_no_failure_of_the_provider() -> None:
    interruption = Interruption(grace=LONG)
    with interruption.in_context(), pytest.raises(Interrupted):
        async with interruptible():
            ask(interruption)
            raise FatalModelError("the server is gone")


async def test_an_error_of_another_kind_comes_through() -> None:
    interruption = Interruption(grace=LONG)
    with interruption.in_context(), pytest.raises(RunDirectoryError):
        async with interruptible():
            ask(interruption)
            raise RunDirectoryError("the disk is full")


async def test_a_failure_that_nobody_asked_for_and_a_cancellation_by_others_come_through() -> None:
    interruption = Interruption(grace=LONG)
    with interruption.in_context():
        with pytest.raises(FatalModelError):
            async with interruptible():
                raise FatalModelError("the key is wrong")

        async def work() -> None:
            async with interruptible():
                await asyncio.Event().wait()

        working = asyncio.create_task(work())
        await asyncio.sleep(0)
        working.cancel()
        with pytest.raises(asyncio.CancelledError):
            await working


async def test_a_call_that_is_held_back_does_not_run_into_its_tasks_deadline() -> None:
    """A timeout would be recorded as something that the run went on without."""
    interruption = Interruption(grace=0.05)
    reached: list[str] = []

    async def task() -> None:
        try:
            async with Deadline(0.001):
                await may_begin()
        except TimeoutError:
            reached.append("the deadline")

    with interruption.in_context(), pytest.raises(Interrupted):
        async with interruptible():
            ask(interruption)
            with under_way():
                await task()
    assert reached == []


async def test_without_an_interruption_nothing_happens() -> None:
    async with interruptible():
        await may_begin()
        with under_way():
            pass


def test_the_grace_is_a_few_seconds() -> None:
    assert 1 <= GRACE_SECONDS <= 10
