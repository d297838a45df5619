"""What is tried again, how often, and how long it waits; no clock is read."""

from collections.abc import Mapping

import pytest

from skillopt.errors import FatalModelError, ModelError, ModelTimeoutError, RateLimitError, TransientModelError
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.retry import (
    MAX_BACKOFF,
    MAX_RETRY_AFTER,
    Retry,
    RetryingModel,
    asked_pause,
    failed_attempts,
)
from skillopt.types import JsonValue, Message, Place


class Scripted:
    """Raises the given failures one after the other, then answers."""

    identity: Mapping[str, JsonValue] = {"provider": "scripted"}

    def __init__(self, *failures: ModelError) -> None:
        self.failures = list(failures)
        self.calls = 0
        self.closed = 0

    async def reply(self, request: ChatRequest) -> ChatReply:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return ChatReply("ok")

    async def close(self) -> None:
        self.closed += 1


class Sleeper:
    """Remembers the waits instead of waiting."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


def request(text: str = "?") -> ChatRequest:
    return ChatRequest((Message("user", text),), Place("rollout", 1, 2))


def transient(count: int) -> list[ModelError]:
    return [TransientModelError(f"m: outage {number}") for number in range(count)]


async def test_transient_failures_are_tried_again_until_there_is_a_reply():
    model, sleeper, told = Scripted(*transient(3)), Sleeper(), list[Retry]()
    retrying = RetryingModel(model, 5, seed=1, sleep=sleeper, on_retry=told.append)
    assert (await retrying.reply(request())).text == "ok"
    assert model.calls == 4
    assert [retry.wait for retry in told] == sleeper.waits
    assert [(retry.attempt, retry.place) for retry in told] == [
        (number, Place("rollout", 1, 2)) for number in (1, 2, 3)
    ]
    assert told[2].error.message == "m: outage 2"


async def test_the_last_failure_is_raised_with_the_number_of_attempts_and_no_wait_after_it():
    """F4: the reason is in the report, with how often it was tried."""
    model, sleeper = Scripted(*transient(9)), Sleeper()
    with pytest.raises(TransientModelError, match=r"m: outage 2 \(the last of 3 attempts\)"):
        await RetryingModel(model, 3, seed=1, sleep=sleeper).reply(request())
    assert (model.calls, len(sleeper.waits)) == (3, 2)


async def test_a_single_attempt_raises_the_failure_as_it_is():
    sleeper = Sleeper()
    with pytest.raises(TransientModelError) as caught:
        await RetryingModel(Scripted(*transient(1)), 1, seed=1, sleep=sleeper).reply(request())
    assert caught.value.message == "m: outage 0"
    assert sleeper.waits == []


async def test_fatal_failures_and_bugs_are_never_tried_again():
    """F4, F6: only what may pass is tried again; anything else comes through at once."""
    model, sleeper = Scripted(FatalModelError("m: bad key", status=401)), Sleeper()
    with pytest.raises(FatalModelError):
        await RetryingModel(model, 5, seed=1, sleep=sleeper).reply(request())
    assert (model.calls, sleeper.waits) == (1, [])


async def test_waits_grow_to_a_bound_and_are_jittered():
    waits: list[float] = []
    for number in range(40):
        sleeper = Sleeper()
        await RetryingModel(Scripted(*transient(9)), 10, seed=1, sleep=sleeper).reply(request(str(number)))
        bounds = [1, 2, 4, 8, 16, 30, 30, 30, 30]
        assert all(0 <= wait <= bound for wait, bound in zip(sleeper.waits, bounds, strict=True))
        waits.append(sleeper.waits[-1])
    assert len(set(waits)) == 40
    assert min(waits) < MAX_BACKOFF / 4
    assert max(waits) > MAX_BACKOFF * 3 / 4


async def test_equal_requests_of_equal_seeds_wait_equally_whatever_runs_beside():
    """More 14"""

    async def waits(seed: int, *texts: str) -> list[float]:
        sleeper = Sleeper()
        for text in texts:
            await RetryingModel(Scripted(*transient(2)), 3, seed=seed, sleep=sleeper).reply(request(text))
        return sleeper.waits

    assert (await waits(1, "a", "b"))[2:] == await waits(1, "b")
    assert await waits(1, "a") != await waits(2, "a")


async def test_a_wait_that_the_provider_asks_for_is_honoured_up_to_a_bound():
    sleeper = Sleeper()
    failures = [RateLimitError("m: slow", retry_after=seconds) for seconds in (20.0, 0.0, 86_400.0, None)]
    await RetryingModel(Scripted(*failures), 5, seed=1, sleep=sleeper).reply(request())
    first, second, third, fourth = sleeper.waits
    assert 20.0 <= first <= 21.0
    assert 0.0 <= second <= 2.0
    assert MAX_RETRY_AFTER <= third <= MAX_RETRY_AFTER + 4.0
    assert 0.0 <= fourth <= 8.0


async def test_timeouts_are_tried_again_less_often_since_each_takes_minutes():
    """F1, F2: a provider that hangs is found out in half an hour, not in an hour."""
    timeouts = [ModelTimeoutError(f"m: too slow {number}") for number in range(9)]
    model, sleeper = Scripted(timeouts[0], *transient(4), *timeouts[1:]), Sleeper()
    with pytest.raises(ModelTimeoutError, match=r"m: too slow 4 \(the last of 9 attempts\)"):
        await RetryingModel(model, 20, seed=1, sleep=sleeper).reply(request())
    assert model.calls == 9


@pytest.mark.parametrize(
    ("error", "seconds"),
    [
        (RateLimitError("m", retry_after=7.0), 7.0),
        (RateLimitError("m", retry_after=7.0, status=503), 7.0),
        (RateLimitError("m"), 0.0),
        (RateLimitError("m", retry_after=-3.0), 0.0),
        (RateLimitError("m", retry_after=1e12), MAX_RETRY_AFTER),
        (TransientModelError("m"), 0.0),
    ],
)
def test_the_pause_that_a_provider_asks_for_is_a_bounded_number(error: TransientModelError, seconds: float):
    assert asked_pause(error) == seconds


async def test_identity_and_close_are_those_of_the_model_behind_it():
    model = Scripted()
    retrying = RetryingModel(model, 2, seed=1)
    assert retrying.identity == {"provider": "scripted"}
    await retrying.close()
    assert model.closed == 1


def test_less_than_one_attempt_is_refused():
    with pytest.raises(ValueError, match="attempts is 0"):
        RetryingModel(Scripted(), 0, seed=1)


async def test_a_call_knows_how_many_attempts_of_its_request_failed_before_it():
    """For the ledger: what a reply took stands beside what it cost."""
    counts: list[int] = []

    class Counting(Scripted):
        async def reply(self, request: ChatRequest) -> ChatReply:
            counts.append(failed_attempts())
            return await super().reply(request)

    await RetryingModel(Counting(*transient(2)), 5, seed=1, sleep=Sleeper()).reply(request())
    assert counts == [0, 1, 2]
    assert failed_attempts() == 0
