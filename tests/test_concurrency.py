"""Many things at once, in the order of the items."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from skillopt.concurrency import call_in_thread, map_ordered
from skillopt.errors import LimitReached, SkillOptError


async def test_results_keep_the_order_of_the_items_whoever_finishes_first() -> None:
    """More 14."""
    turn = [asyncio.Event() for _ in range(4)]
    turn[3].set()
    finished: list[int] = []

    async def wait_for_the_next(number: int) -> int:
        await turn[number].wait()
        finished.append(number)
        if number:
            turn[number - 1].set()
        return number * 10

    assert await map_ordered(wait_for_the_next, range(4), limit=4) == [0, 10, 20, 30]
    assert finished == [3, 2, 1, 0]


async def test_no_more_than_the_limit_run_at_once_and_no_fewer() -> None:
    running = most = 0
    full = asyncio.Event()

    async def work(number: int) -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running == 3:
            full.set()
        await full.wait()
        await asyncio.sleep(0)
        running -= 1

    async with asyncio.timeout(10):
        await map_ordered(work, range(9), limit=3)
    assert most == 3


async def test_nothing_to_do_is_done() -> None:
    async def never(_: int) -> None:
        raise AssertionError

    assert await map_ordered(never, [], limit=1) == []


async def test_the_first_error_cancels_the_others_and_comes_unwrapped() -> None:
    """One error with one message ends a stage, not a group of them with a traceback."""
    cancelled: list[int] = []
    waiting = asyncio.Event()

    async def work(number: int) -> None:
        if number == 2:
            await waiting.wait()
            raise SkillOptError("the key is wrong")
        try:
            waiting.set()
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(number)
            raise

    with pytest.raises(SkillOptError, match="the key is wrong"):
        await map_ordered(work, range(3), limit=3)
    assert sorted(cancelled) == [0, 1]


@pytest.mark.parametrize("limit", [1, 2])
async def test_after_an_error_nothing_more_is_begun(limit: int) -> None:
    """F2: a wrong key is paid for once for each call under way, not once for each task."""
    begun: list[int] = []

    async def fail(number: int) -> None:
        begun.append(number)
        raise SkillOptError("the key is wrong")

    with pytest.raises(SkillOptError):
        await map_ordered(fail, range(100), limit=limit)
    assert len(begun) <= limit


async def test_an_error_from_a_map_within_a_map_comes_unwrapped() -> None:
    async def fail(_: int) -> None:
        raise SkillOptError("deep")

    async def outer(_: int) -> None:
        await map_ordered(fail, [1], limit=1)

    with pytest.raises(SkillOptError, match="deep"):
        await map_ordered(outer, [1], limit=1)


async def test_cancelling_the_map_cancels_all_of_it() -> None:
    started, ended = asyncio.Event(), list[int]()

    async def work(number: int) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(number)

    task = asyncio.create_task(map_ordered(work, range(2), limit=2))
    await started.wait()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(ended) == [0, 1]


async def test_the_event_loop_goes_on_while_a_slow_function_works() -> None:
    started, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def slow() -> str:
        loop.call_soon_threadsafe(started.set)
        release.wait()
        return "done"

    call = asyncio.create_task(call_in_thread(slow, seconds=60))
    await started.wait()
    release.set()
    assert await call == "done"


async def test_a_function_that_never_ends_is_left_to_itself_and_holds_up_no_exit() -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    def stuck() -> None:
        threads.append(threading.current_thread())
        release.wait()

    with pytest.raises(TimeoutError):
        await call_in_thread(stuck, seconds=0.05)
    (thread,) = threads
    assert thread.daemon
    release.set()
    thread.join()
    await asyncio.sleep(0)


def test_a_function_that_outlives_its_loop_disturbs_nothing() -> None:
    release = threading.Event()
    threads: list[threading.Thread] = []

    def stuck() -> None:
        threads.append(threading.current_thread())
        release.wait()

    with pytest.raises(TimeoutError):
        asyncio.run(call_in_thread(stuck, seconds=0.05))
    release.set()
    threads[0].join()


@pytest.mark.parametrize("error", [KeyError("x"), StopIteration(), TimeoutError("its own"), SystemExit(3)])
def test_what_a_function_raises_comes_through(error: BaseException) -> None:
    def fail() -> None:
        raise error

    with pytest.raises((type(error), RuntimeError)):
        asyncio.run(call_in_thread(fail, seconds=60))


async def test_a_function_sees_the_context_of_its_caller() -> None:
    """Such as the precision of decimals, which a scorer counts on."""
    variable = ContextVar("variable", default="default")
    variable.set("callers")
    assert await call_in_thread(variable.get, seconds=60) == "callers"


async def test_at_a_limit_what_is_under_way_is_finished_and_nothing_more_is_begun() -> None:
    """What was begun below the limit is paid, so its result must be kept."""
    begun: list[int] = []
    finished: list[int] = []

    async def work(number: int) -> None:
        begun.append(number)
        await asyncio.sleep(0)
        if number == 1:
            raise LimitReached("the limit")
        for _ in range(5):
            await asyncio.sleep(0)
        finished.append(number)

    with pytest.raises(LimitReached, match="the limit"):
        await map_ordered(work, range(9), limit=3)
    assert (begun, finished) == ([0, 1, 2], [0, 2])
