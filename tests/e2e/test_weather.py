"""A training under injected faults: those that pass change no result, those that do not end it and leave a run behind.

Waits are cut short by the constants of the retry; what is real is the server, the sockets and the timeouts of a call.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import SMALL, read_json, views, write_run

from skillopt.api import train
from skillopt.config.model_settings import RoleSettings
from skillopt.errors import MeasurementError, ModelError
from skillopt.events import Event, StepCommitted, Warned
from skillopt.run.outcome import EndState
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call, Fault, Weather, fair, stormy

DEFAULT_ATTEMPTS = RoleSettings(name="simulated:target").attempts
AS_SHIPPED = {f"model.{role}.attempts": DEFAULT_ATTEMPTS for role in ("target", "optimizer")}
IMPATIENT = {f"model.{role}.timeout": 0.5 for role in ("target", "optimizer")}
SETTINGS = {**AS_SHIPPED, **IMPATIENT}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits between attempts are none, and a pause that the provider asks for is a moment."""
    monkeypatch.setattr("skillopt.models.retry.FIRST_BACKOFF", 0.0)
    monkeypatch.setattr("skillopt.models.retry.MAX_RETRY_AFTER", 0.004)


class Changing:
    """Weather that a test changes, and what it did."""

    def __init__(self) -> None:
        self.now: Weather = fair
        self.met: list[Fault | None] = []

    def __call__(self, call: Call) -> Fault | None:
        self.met.append(self.now(call))
        return self.met[-1]


@pytest.mark.parametrize("seed", range(1, 5))
async def test_a_training_under_30_percent_faults_equals_the_one_without_byte_by_byte(
    tmp_path: Path, seed: int
) -> None:
    """F1, F2, F6, More 14: faults that pass cost time and nothing else; no stage falls back, no task is lost."""
    weather = Changing()
    told: list[Event] = []
    async with SimulatedServer(SMALL, weather=weather) as server:
        whole = await train(write_run(tmp_path, server=server, settings={**SETTINGS, "env.out_root": "whole"}))
        weather.now, calm = stormy(seed, 0.3), len(weather.met)
        outcome = await train(write_run(tmp_path, server=server, settings=SETTINGS), subscribers=[told.append])
    struck = [fault for fault in weather.met[calm:] if fault is not None]
    assert 0.2 < len(struck) / len(weather.met[calm:]) < 0.4
    assert len({fault.kind for fault in struck}) > 6
    assert outcome.message == whole.message
    assert outcome == replace(whole, directory=outcome.directory)
    assert views(outcome.directory) == views(whole.directory)
    slowed = [event.message for event in told if isinstance(event, Warned) and "fewer calls" in event.message]
    assert 1 <= len(slowed) == len({message.split(":")[0] for message in slowed}) <= 2


class Narrow:
    """A provider that takes so many calls at once, and refuses what is more; from its side of the wire."""

    def __init__(self) -> None:
        self.most = 1000
        self._in_flight = 0
        self._refused: set[int] = set()
        self.seen: list[int] = []

    async def hold(self, call: Call) -> None:
        self._in_flight += 1
        self.seen.append(self._in_flight)
        if self._in_flight > self.most:
            self._refused.add(call.number)
        for _ in range(50):
            await asyncio.sleep(0)
        self._in_flight -= 1

    def __call__(self, call: Call) -> Fault | None:
        return Fault("status", 429, "too many at once") if call.number in self._refused else None

    @property
    def refused(self) -> int:
        return len(self._refused)


async def test_a_provider_that_takes_few_calls_at_once_soon_sees_few(tmp_path: Path) -> None:
    """F115: the calls that it refuses are a small share, and none of them changes the result."""
    narrow = Narrow()
    settings = {**AS_SHIPPED, "env.workers": 16}
    async with SimulatedServer(SMALL, weather=narrow, delay=narrow.hold) as server:
        whole = await train(write_run(tmp_path, server=server, settings={**settings, "env.out_root": "whole"}))
        narrow.most, calm = 3, len(narrow.seen)
        outcome = await train(write_run(tmp_path, server=server, settings=settings))
    seen = narrow.seen[calm:]
    assert max(narrow.seen[:calm]) > 6
    assert max(seen[len(seen) // 4 :]) <= 5
    assert 0 < narrow.refused < len(seen) / 3
    assert outcome == replace(whole, directory=outcome.directory)
    assert views(outcome.directory) == views(whole.directory)


@pytest.mark.parametrize("model", ["target", "optimizer"])
@pytest.mark.parametrize(
    "fault",
    [
        Fault("status", 401, "Incorrect API key provided."),
        Fault("status", 429, "You exceeded your current quota.", error_type="insufficient_quota"),
        Fault("error_inside", 403, "Not logged in"),
    ],
)
async def test_a_fatal_failure_stops_it_at_once_and_nothing_more_is_asked(
    tmp_path: Path, model: str, fault: Fault
) -> None:
    """F2, F4, F115: only what was in flight had reached the server; a key that is gone burns no quota."""
    release, arrived = asyncio.Event(), list[Call]()
    storm = stormy(1, 0.3)

    async def hold(call: Call) -> None:
        """Keep the calls of the role in flight, and let the first of them come back."""
        if call.model == model:
            arrived.append(call)
            if len(arrived) == 4:
                release.set()
            await (release if call is arrived[0] else asyncio.Event()).wait()

    def weather(call: Call) -> Fault | None:
        return fault if call.model == model else storm(call)

    async with SimulatedServer(SMALL, weather=weather, delay=hold) as server:
        settings = {**AS_SHIPPED, "env.workers": 4, "gradient.minibatch_size": 1, "gradient.analyst_workers": 4}
        config = write_run(tmp_path, server=server, settings=settings)
        words = await failure_of_training(config)
        assert fault.message in words
        assert server.count(model) == len(arrived) == 4
        assert server.abandoned >= 3
    assert read_json(tmp_path / "run" / "summary.json")["exit_code"] == EndState.PROVIDER_FAILED.exit_code


async def failure_of_training(config: Path) -> str:
    """What a training that a provider ended says, before or after its baseline."""
    try:
        outcome = await train(config)
    except (ModelError, MeasurementError) as error:
        return str(error)
    assert outcome.state == EndState.PROVIDER_FAILED
    return outcome.message


@pytest.mark.parametrize(
    ("model", "fault"),
    [
        ("target", Fault("reset")),
        ("target", Fault("status", 429, "slow down", retry_after="86400")),
        ("target", Fault("status", 401, "the key was revoked")),
        ("optimizer", Fault("status", 503, "gone for good")),
        ("optimizer", Fault("cut_body")),
    ],
)
async def test_a_provider_that_dies_for_good_leaves_a_run_that_goes_on_as_if_nothing_had_been(
    tmp_path: Path, model: str, fault: Fault
) -> None:
    """F2, F9: in the middle, under faults that pass; the same command afterwards, under faults too, ends the same."""
    weather, steps = Changing(), 0

    def watch(event: Event) -> None:
        nonlocal steps
        steps += isinstance(event, StepCommitted)

    storm = stormy(9, 0.3)
    async with SimulatedServer(SMALL, weather=weather) as server:
        settings = {**SETTINGS, "train.num_epochs": 1, "model.target.concurrency": 3}
        whole = await train(write_run(tmp_path, server=server, settings={**settings, "env.out_root": "whole"}))
        weather.now = lambda call: fault if steps >= 2 and call.model == model else storm(call)
        config = write_run(tmp_path, server=server, settings=settings)
        broken = await train(config, subscribers=[watch])
        assert broken.state == EndState.PROVIDER_FAILED
        assert fault.kind != "status" or fault.message in broken.message
        assert [record["step"] for record in read_json(broken.directory / "history.json")] == [0, 1]
        weather.now = storm
        outcome = await train(config)
    assert outcome == replace(whole, directory=outcome.directory)
    assert views(outcome.directory) == views(whole.directory)


async def test_more_unmeasured_tasks_than_may_be_stop_it_and_fewer_do_not(tmp_path: Path) -> None:
    """F1, F2, F9: a provider that fails on some tasks for good, with all attempts used up for each."""
    lost: set[str] = set()
    weather = Changing()

    def refuse(call: Call) -> Fault | None:
        messages: Any = call.body["messages"]
        return Fault("status", 503, "this one never") if messages[-1]["content"] in lost else None

    async with SimulatedServer(SMALL, weather=weather) as server:
        settings = {**AS_SHIPPED, "train.num_epochs": 1, "train.batch_size": 16, "evaluation.max_unmeasured": 0.1}
        whole = await train(write_run(tmp_path, server=server, settings={**settings, "env.out_root": "whole"}))
        rollouts = read_json(whole.directory / "steps" / "step_0001" / "rollout" / "results.json")
        questions = {task.id: task.question for task in SMALL.tasks}
        asked = [questions[row["id"]] for row in rollouts]

        lost, weather.now = set(asked[:2]), refuse
        config = write_run(tmp_path, server=server, settings=settings)
        stopped = await train(config)
        assert stopped.state == EndState.PROVIDER_FAILED
        assert "rollout: 2 of 16 tasks could not be measured, at most 1 may be missing" in stopped.message
        assert f"this one never (HTTP 503) (the last of {DEFAULT_ATTEMPTS} attempts)" in stopped.message

        weather.now = fair
        outcome = await train(config)
        assert outcome == replace(whole, directory=outcome.directory)
        assert views(outcome.directory) == views(whole.directory)

        lost, weather.now = set(asked[:1]), refuse
        went_on = await train(write_run(tmp_path, server=server, settings={**settings, "env.out_root": "one_lost"}))
        assert went_on.state != EndState.PROVIDER_FAILED
        record = read_json(went_on.directory / "history.json")[1]
        assert (record["rollout_n"], record["rollout_unmeasured"]) == (15, 1)


async def test_an_outage_that_a_stage_goes_on_without_is_recorded_and_a_replay_pays_for_nothing(tmp_path: Path) -> None:
    """F6: merges and rankings that no attempt could have; the next start finds fair weather and takes the same way."""
    weather = Changing()

    def refuse(call: Call) -> Fault | None:
        form: Any = call.body.get("response_format") or {}
        named = form.get("json_schema", {}).get("name", "")
        return Fault("status", 503, "no capacity left") if named in ("merge", "ranking") else None

    async with SimulatedServer(SMALL, weather=weather) as server:
        schemas = {"model.optimizer.schema_replies": True, "optimizer.learning_rate": 1}
        config = write_run(tmp_path, server=server, settings={**AS_SHIPPED, **schemas, "train.num_epochs": 1})
        weather.now = refuse
        outcome = await train(config)
        shown, asked = views(outcome.directory), len(server.calls)
        weather.now = fair
        assert await train(config) == outcome
        assert len(server.calls) == asked
    assert views(outcome.directory) == shown
    records = read_json(outcome.directory / "history.json")[1:]
    counted = sum(record["counters"].get("provider_failed_TransientModelError", 0) for record in records)
    assert sum(record["counters"].get("merge_fallbacks", 0) for record in records) > 0
    refused = sum(fault is not None for fault in weather.met)
    assert refused == DEFAULT_ATTEMPTS * counted > 0
