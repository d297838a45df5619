"""Trackers watch a training: they are told in time, and cannot hold it up, change it or end it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.support.records import record
from tests.support.runs import SMALL, views, write_run
from tests.support.trackers import ScriptedTracker, Store, failing

from skillopt.api import train
from skillopt.config.load import load_config
from skillopt.errors import FatalModelError, Interrupted, RunDirectoryError
from skillopt.events import EpochStageCommitted, Event, RunEnded, RunStarted, StageStarted, StepCommitted, Warned
from skillopt.interruption import Interruption, interruptible
from skillopt.report.picture import PICTURE_NAME
from skillopt.run.outcome import EndState
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Fault
from skillopt.trackers import watcher
from skillopt.trackers.base import Tracker
from skillopt.trackers.chosen import Chosen
from skillopt.trackers.told import Status
from skillopt.trackers.watcher import Trackers

STARTED = RunStarted("run", 4, 2, {"train": 4}, {}, simulated=True)
ENDED = RunEnded("improved", "", {"state": "improved"})

Choose = Callable[..., Store]


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Choose:
    """Choose scripted trackers in place of the real ones, each with what it does at its calls; return their store."""

    def choose(*acts: Callable[[str], None]) -> Store:
        store = Store()

        def maker(act: Callable[[str], None]) -> Callable[[], Tracker]:
            return lambda: ScriptedTracker(store, act)

        monkeypatch.setattr(
            watcher,
            "chosen",
            lambda settings: iter([Chosen(f"t{n}", "", "", maker(act)) for n, act in enumerate(acts, start=1)]),
        )
        return store

    return choose


def nothing(call: str) -> None:
    """Do as one is told."""


def trackers_of(tmp_path: Path, *overrides: str) -> Trackers:
    (tmp_path / "run").mkdir(exist_ok=True)
    return Trackers(load_config(write_run(tmp_path), overrides).config, tmp_path / "run", environment={})


async def test_a_step_is_told_once_it_is_final(tmp_path: Path, choose: Choose) -> None:
    """A slow update that follows a step changes how it stands; a tracker has one number for a step."""
    store = choose(nothing)
    trackers = trackers_of(tmp_path)
    warned: list[str] = []
    trackers(STARTED)
    async with trackers.watching(warned.append):
        for event in (
            StageStarted("baseline", 0, 0),
            StepCommitted(record(0)),
            StageStarted("rollout", 1, 1),
            StepCommitted(record(1)),
            StageStarted("slow_update", 1, 1),
            EpochStageCommitted("slow_update", 1, record(1, best_score=1.0)),
        ):
            trackers(event)
        (sender,) = trackers._senders
        assert [point.step for point in sender._points] in ([], [0]), "the step may change yet"
        trackers(StageStarted("rollout", 2, 2))
        trackers(StepCommitted(record(2)))
        trackers(StageStarted("test", 2, 2))
        trackers(ENDED)
    assert store.steps == {"run-1": [0, 1, 2]}
    assert [point.metrics["scores/best"] for point in sender._points] == [0.875, 1.0, 0.875]
    assert (store.ends, store.status) == ({"run-1": ["improved"]}, {"run-1": Status.FINISHED})
    assert warned == []


@pytest.mark.parametrize("drawn", [True, False])
async def test_a_picture_is_sent_where_this_training_draws_one(tmp_path: Path, choose: Choose, drawn: bool) -> None:
    """With `report.picture: false` one that is there is of an earlier start."""
    choose(nothing)
    trackers = trackers_of(tmp_path, f"report.picture={str(drawn).lower()}")
    (tmp_path / "run" / PICTURE_NAME).write_bytes(b"of an earlier start")
    trackers(STARTED)
    async with trackers.watching([].append):
        trackers(ENDED)
    (sender,) = trackers._senders
    assert sender._end is not None
    assert (sender._end.picture is not None) == drawn


async def test_an_end_in_the_middle_of_a_step_is_told_at_the_one_before(tmp_path: Path, choose: Choose) -> None:
    choose(nothing)
    trackers = trackers_of(tmp_path)
    trackers(STARTED)
    async with trackers.watching(lambda words: None):
        for event in (StepCommitted(record(0)), StepCommitted(record(1)), StageStarted("rollout", 1, 2), ENDED):
            trackers(event)
    (sender,) = trackers._senders
    assert sender._end is not None and sender._end.step == 1


async def test_what_fails_is_warned_of_once_for_each_tracker_and_without_a_key(tmp_path: Path, choose: Choose) -> None:
    key = "sk-planted-4f9d0c7be1a2"
    fails = [ConnectionError(f"401: wrong key {key}")] * 3
    store = choose(failing("open", "log", "end", error=fails[0]), failing("log", error=fails[0]), nothing)
    (tmp_path / "run").mkdir()
    trackers = Trackers(load_config(write_run(tmp_path)).config, tmp_path / "run", environment={"SERVICE_KEY": key})
    warned: list[str] = []
    trackers(STARTED)
    async with trackers.watching(warned.append):
        trackers(StepCommitted(record(0)))
        trackers(ENDED)
    assert sorted(words.partition(":")[0] for words in warned) == ["tracker t1", "tracker t2"]
    assert key not in "".join(warned) + (tmp_path / "run" / "trackers.json").read_text("utf-8")
    assert "run-1" in store.steps


async def test_a_tracker_that_cannot_be_made_is_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> Tracker:
        raise AttributeError("another version")

    monkeypatch.setattr(watcher, "chosen", lambda settings: iter([Chosen("t", "", "", broken)]))
    trackers = trackers_of(tmp_path)
    warned: list[str] = []
    trackers(STARTED)
    async with trackers.watching(warned.append):
        pass
    assert [words.partition(";")[0] for words in warned] == ["tracker t: AttributeError: another version"]


class Hanging:
    """Hangs at a call until the test is over."""

    def __init__(self, call: str) -> None:
        self._call = call
        self.begun, self._over = threading.Event(), threading.Event()

    def __call__(self, call: str) -> None:
        if call == self._call:
            self.begun.set()
            self._over.wait(60)

    def end(self) -> None:
        self._over.set()


@pytest.mark.parametrize("call", ["open", "log", "end", "close"])
async def test_a_tracker_that_hangs_changes_nothing_and_the_others_are_told_all(
    tmp_path: Path, choose: Choose, call: str
) -> None:
    """The setting trackers.wait says how long the end of a training waits for it."""
    written = write_run(tmp_path)
    await train(written, [f"env.out_root={tmp_path / 'alone'}"])
    hanging = Hanging(call)
    store = choose(hanging, nothing)
    said: list[Event] = []
    outcome = await train(written, ["trackers.wait=0.2"], subscribers=[said.append])
    hanging.end()
    assert outcome.state is EndState.IMPROVED
    warned = [event.message for event in said if isinstance(event, Warned) and "tracker" in event.message]
    assert warned == ["tracker t1: it did not take everything within 0.2 s; the same command sends the rest"]
    assert views(outcome.directory) == views(tmp_path / "alone"), "the training is the same, byte for byte"
    assert ["improved"] in store.ends.values()


async def test_an_end_that_is_asked_for_while_it_hangs_comes_at_once_and_keeps_the_outcome(
    tmp_path: Path, choose: Choose
) -> None:
    hanging = Hanging("end")
    choose(hanging)
    interruption = Interruption(grace=0.0)

    async def ask() -> None:
        assert await asyncio.to_thread(hanging.begun.wait, 60)
        interruption.ask("interrupted (SIGINT)", exit_code=130)

    with interruption.in_context():
        asking = asyncio.create_task(ask())
        outcome = await train(load_config(write_run(tmp_path), ["trackers.wait=600"]))
    hanging.end()
    await asking
    assert outcome.state is EndState.IMPROVED


async def test_a_training_that_is_interrupted_waits_a_moment_and_tells_so(tmp_path: Path, choose: Choose) -> None:
    store = choose(nothing)
    trackers = trackers_of(tmp_path)
    trackers(STARTED)
    interruption = Interruption(grace=0.0)
    with interruption.in_context():
        async with interruptible(), trackers.watching(lambda words: None):
            with pytest.raises(Interrupted):
                async with interruptible():
                    interruption.ask("interrupted (SIGINT)", exit_code=130)
                    await asyncio.Event().wait()
            trackers(RunEnded("interrupted", "", {"state": "interrupted"}))
    assert (store.ends, store.status) == ({"run-1": ["interrupted"]}, {"run-1": Status.KILLED})


async def test_a_training_that_fails_is_failed_there_too(tmp_path: Path, choose: Choose) -> None:
    store = choose(nothing)
    async with SimulatedServer(SMALL, weather=lambda call: Fault("status", status=401)) as server:
        with pytest.raises(FatalModelError):
            await train(write_run(tmp_path, server=server))
    assert store.ends == {"run-1": ["provider_failed"]}
    assert store.status == {"run-1": Status.FAILED}


async def test_a_training_that_fails_waits_for_them_as_any_end_does(
    tmp_path: Path, choose: Choose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "GRACE_SECONDS", 0.0)
    hanging = Hanging("open")
    store = choose(hanging)
    trackers = trackers_of(tmp_path, "trackers.wait=600")
    warned: list[str] = []
    trackers(STARTED)

    async def fail() -> None:
        async with trackers.watching(warned.append):
            assert await asyncio.to_thread(hanging.begun.wait, 60)
            trackers(RunEnded("provider_failed", "", {"state": "provider_failed"}))
            raise FatalModelError("refused")

    task = asyncio.create_task(fail())
    assert await asyncio.to_thread(hanging.begun.wait, 60)
    for _ in range(1000):  # Whoever waits for no time at all has gone by then.
        await asyncio.sleep(0)
    hanging.end()
    with pytest.raises(FatalModelError):
        await task
    assert (warned, store.ends) == ([], {"run-1": ["provider_failed"]})


async def test_a_training_that_is_cancelled_leaves_them_at_once(tmp_path: Path, choose: Choose) -> None:
    hanging = Hanging("log")
    choose(hanging)
    trackers = trackers_of(tmp_path, "trackers.wait=600")
    warned: list[str] = []
    trackers(STARTED)

    async def watch() -> None:
        async with trackers.watching(warned.append):
            trackers(StepCommitted(record(0)))
            trackers(StageStarted("rollout", 1, 1))
            assert await asyncio.to_thread(hanging.begun.wait, 60)
            await asyncio.Event().wait()

    task = asyncio.create_task(watch())
    assert await asyncio.to_thread(hanging.begun.wait, 60)
    while not task.cancelling():
        await asyncio.sleep(0)
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert trackers._senders[0].at_work, "it is not waited for"
    hanging.end()
    assert warned == []


async def test_a_warning_that_cannot_be_logged_harms_nothing(tmp_path: Path, choose: Choose) -> None:
    choose(failing("open"))
    trackers = trackers_of(tmp_path)
    refused: list[str] = []
    unhandled: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: unhandled.append(context))

    def refuse(words: str) -> None:
        refused.append(words)
        raise RunDirectoryError("the log is gone")

    trackers(STARTED)
    async with trackers.watching(refuse):
        trackers(ENDED)
    assert (len(refused), unhandled) == (1, [])
