"""More epochs on a run that is there: it goes on, and ends as the longer run that was never a shorter one."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import SMALL, read_json, views, write_run

from skillopt.api import train
from skillopt.errors import RunDirectoryError
from skillopt.events import Event, Warned
from skillopt.run.outcome import EndState
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call, Fault

LONGER = "train.num_epochs=3"
SMALLER = {"env.limit": 8}
"""Two steps an epoch."""
AROUND: dict[str, Any] = {
    "optimizer.redraw": 1,
    "evaluation.gate_every": 2,
    "evaluation.refresh": 2,
    "evaluation.final_repeats": 1,
    "evaluation.reselect": 2,
}
"""What writes files that a longer run need not write at the same steps, and what waits for a last step."""
KINDS: dict[str, dict[str, Any]] = {
    "constant": {"optimizer.lr_scheduler": "constant"},
    "cosine": {"optimizer.lr_scheduler": "cosine", "optimizer.learning_rate": 4},
    "linear, with all around the gate": {"optimizer.lr_scheduler": "linear", "optimizer.learning_rate": 4, **AROUND},
    "patience": {"optimizer.lr_scheduler": "constant", "evaluation.patience": 2},
    "the optimizer names the budget": {"optimizer.lr_control_mode": "autonomous", "optimizer.learning_rate": 4},
}


def said(events: list[Event]) -> list[str]:
    return [event.message for event in events if isinstance(event, Warned) and "num_epochs is raised" in event.message]


@pytest.mark.parametrize("settings", KINDS.values(), ids=KINDS)
async def test_a_finished_run_goes_on_and_ends_as_the_longer_run(tmp_path: Path, settings: dict[str, Any]) -> None:
    events: list[Event] = []
    async with SimulatedServer(SMALL) as server:
        config = write_run(tmp_path, server=server, settings={"train.num_epochs": 1, **SMALLER, **settings})
        whole = (await train(config, [LONGER, f"env.out_root={tmp_path / 'whole'}"])).directory
        asked = len(server.calls)
        await train(config)
        shorter = len(server.calls) - asked
        await train(config, [LONGER], subscribers=[events.append])
        again = len(server.calls) - asked - shorter
        assert views(tmp_path / "run") == views(whole)
        await train(config, [LONGER], subscribers=[events.append])
        assert len(server.calls) - asked == shorter + again, "a second start pays nothing"
    assert views(tmp_path / "run") == views(whole)
    assert 0 < again < asked, "what still fitted was not asked again"
    assert len(said(events)) == 1, "it is said once"
    with pytest.raises(RunDirectoryError, match=r"train.num_epochs: 3 -> 1 \(there may be more epochs"):
        await train(config)
    assert views(tmp_path / "run") == views(whole)


async def test_with_a_constant_budget_only_what_follows_is_paid(tmp_path: Path) -> None:
    """Together the shorter run and its continuation pay for the longer run and a final test of the shorter one."""
    async with SimulatedServer(SMALL) as server:
        settings = {"train.num_epochs": 1, "optimizer.lr_scheduler": "constant", "evaluation.eval_test": False}
        config = write_run(tmp_path, server=server, settings=settings)
        await train(config, [LONGER, f"env.out_root={tmp_path / 'whole'}"])
        asked = len(server.calls)
        await train(config)
        await train(config, [LONGER])
        assert len(server.calls) == 2 * asked


async def test_a_run_that_was_interrupted_goes_on_too(tmp_path: Path) -> None:
    """Its provider failed in the second step; a decaying schedule gives the first one another budget as well."""

    def outage(call: Call) -> Fault | None:
        return Fault("status", 503, "no capacity left") if call.number in range(limit, limit + 50) else None

    limit = 10**9
    async with SimulatedServer(SMALL, weather=outage) as server:
        settings = {"optimizer.learning_rate": 8, "train.num_epochs": 1}
        config = write_run(tmp_path, server=server, settings=settings)
        whole = (await train(config, [LONGER, f"env.out_root={tmp_path / 'whole'}"])).directory
        limit = len(server.calls) + 35
        assert (await train(config)).state is EndState.PROVIDER_FAILED
        steps = len(read_json(tmp_path / "run" / "history.json"))
        limit = 10**9
        await train(config, [LONGER])
    assert 1 < steps < 5
    assert views(tmp_path / "run") == views(whole)


async def test_a_longer_run_that_is_interrupted_shows_nothing_of_the_shorter_one(tmp_path: Path) -> None:
    """Neither its steps, whose budgets were others, nor its final test."""

    def outage(call: Call) -> Fault | None:
        return Fault("status", 503, "no capacity left") if call.number >= limit else None

    limit = 10**9
    async with SimulatedServer(SMALL, weather=outage) as server:
        config = write_run(tmp_path, server=server, settings={"optimizer.learning_rate": 8, "train.num_epochs": 1})
        await train(config)
        directory = tmp_path / "run"
        assert (directory / "test_eval").exists()
        limit = len(server.calls)
        outcome = await train(config, [LONGER])
        reached = len(read_json(directory / "history.json")) - 1
    assert outcome.state is EndState.PROVIDER_FAILED
    assert sorted(path.name for path in (directory / "steps").glob("*")) == [
        f"step_{step:04d}" for step in range(1, reached + 1)
    ]
    assert not (directory / "test_eval").exists()
    assert reached < 4


async def test_old_results_stay_in_the_evidence(tmp_path: Path) -> None:
    config = write_run(tmp_path, settings={"train.num_epochs": 1, "optimizer.learning_rate": 8})

    def keys() -> set[str]:
        with closing(sqlite3.connect(tmp_path / "run" / "evidence.sqlite")) as evidence:
            return {key for (key,) in evidence.execute("SELECT key FROM replies UNION SELECT key FROM rollouts")}

    await train(config)
    before = keys()
    await train(config, [LONGER])
    assert before < keys()


def test_what_is_refused_is_not_touched_though_there_are_more_epochs(tmp_path: Path) -> None:
    """F87: the views of the shorter run are removed for a run that goes on, and for no other."""
    config = write_run(tmp_path, settings={"train.num_epochs": 1})
    asyncio.run(train(config))
    before = views(tmp_path / "run")
    with pytest.raises(RunDirectoryError, match=r"train\.seed"):
        asyncio.run(train(config, [LONGER, "train.seed=7"]))
    assert views(tmp_path / "run") == before
