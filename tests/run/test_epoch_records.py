"""What the stages between epochs add to history.json."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.runs import read_json, write_run

from skillopt.api import train
from skillopt.events import EpochStageCommitted, Event, StepCommitted
from skillopt.run.epoch_records import CHANGED_BETWEEN_EPOCHS
from skillopt.run.history import Record
from skillopt.simulation.world import World


@pytest.fixture
async def told(tmp_path: Path) -> tuple[Path, list[tuple[Record, Record]]]:
    """A run of three epochs, and its steps' records before and after each stage between epochs."""
    last: Record = {}
    pairs: list[tuple[Record, Record]] = []

    def watch(event: Event) -> None:
        nonlocal last
        if isinstance(event, EpochStageCommitted):
            pairs.append((last, dict(event.record)))
        if isinstance(event, StepCommitted | EpochStageCommitted):
            last = dict(event.record)

    settings = {
        "train.num_epochs": 3,
        "train.batch_size": 8,
        "optimizer.learning_rate": 1,
        "optimizer.slow_update_samples": 2,
    }
    outcome = await train(write_run(tmp_path, World(40, rules=8, tasks=40), settings=settings), subscribers=[watch])
    return outcome.directory, pairs


async def test_only_what_may_change_changes(told: tuple[Path, list[tuple[Record, Record]]]) -> None:
    """A replay tells by the rest whether history.json goes on from here."""
    _, pairs = told
    assert pairs
    for before, after in pairs:
        changed = {name for name in after if name not in before or after[name] != before[name]}
        assert changed <= CHANGED_BETWEEN_EPOCHS
    assert pairs[-1][1].keys() >= CHANGED_BETWEEN_EPOCHS


async def test_spending_is_that_of_the_step_and_of_what_followed_it(
    told: tuple[Path, list[tuple[Record, Record]]],
) -> None:
    """F122: the sum over the history is the total of the report."""
    directory, pairs = told
    history, summary = read_json(directory / "history.json"), read_json(directory / "summary.json")
    _, after = pairs[-1]
    for stage in ("slow_update", "meta_skill"):
        assert after[stage]["usage"].items() <= after["usage"].items()
    assert any("target.slow_update" in record["usage"] for _, record in pairs)
    tests = summary["usage"]["target.test"]["calls"]
    for role in ("target", "optimizer"):
        used = sum(
            amounts["calls"]
            for record in history
            for name, amounts in record["usage"].items()
            if name.startswith(f"{role}.")
        )
        assert used + (tests if role == "target" else 0) == summary["total_usage"][role]["calls"]
