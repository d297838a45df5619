"""A limit ends a training in order, and a higher one goes on as if there had been none."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import read_json, write_run

from skillopt.api import train
from skillopt.errors import LimitReached
from skillopt.run.outcome import EndState, Outcome
from skillopt.simulation.world import World

WORLD = World(5, rules=4, tasks=20)
PRICED = {f"model.{role}.price": {"input": 100.0, "output": 100.0} for role in ("target", "optimizer")}


def configured(directory: Path, limits: dict[str, Any]) -> Path:
    directory.mkdir(exist_ok=True)
    return write_run(directory, WORLD, settings=limits)


def paid(outcome: Outcome) -> dict[str, tuple[int, int]]:
    """Calls and tokens that were paid over all starts, by role."""
    database = sqlite3.connect(outcome.directory / "evidence.sqlite")
    rows = database.execute("SELECT role, SUM(calls), SUM(fresh_tokens + output_tokens) FROM payments GROUP BY role")
    return {role: (calls, tokens) for role, calls, tokens in rows}


@pytest.mark.parametrize(
    "limit",
    [
        {"limits.calls": 14},
        {"limits.tokens": 3000},
        {"limits.target.calls": 12},
        {"limits.target.tokens": 1200},
        {"limits.optimizer.calls": 2},
        {"limits.optimizer.tokens": 3000},
    ],
    ids=lambda limit: next(iter(limit)),
)
async def test_at_a_limit_a_training_ends_in_order_and_a_higher_one_goes_on(
    tmp_path: Path, limit: dict[str, int]
) -> None:
    """Each of limits.calls, tokens and of target and optimizer; nothing is paid twice."""
    ((key, most),) = limit.items()
    stopped = await train(configured(tmp_path / "limited", limit))
    assert stopped.state is EndState.LIMIT_REACHED
    assert f"{key} is {most}" in stopped.message
    scope, _, amount = key.removeprefix("limits.").rpartition(".")
    used = [numbers[amount == "tokens"] for role, numbers in paid(stopped).items() if scope in ("", role)]
    assert most <= sum(used) <= (most if amount == "calls" else most + 1500), "at most one call's own cost above"
    assert read_json(stopped.directory / "summary.json")["state"] == "limit_reached"
    assert (stopped.directory / "best_skill.md").exists()

    gone_on = await train(configured(tmp_path / "limited", {}))
    free = await train(configured(tmp_path / "free", {}))
    assert gone_on.state == free.state
    assert (gone_on.directory / "best_skill.md").read_bytes() == (free.directory / "best_skill.md").read_bytes()
    assert paid(gone_on) == paid(free)


async def test_the_same_limit_again_pays_nothing_more(tmp_path: Path) -> None:
    first = await train(configured(tmp_path, {"limits.calls": 14}))
    again = await train(configured(tmp_path, {"limits.calls": 14}))
    assert (again.state, paid(again)) == (EndState.LIMIT_REACHED, paid(first))


@pytest.mark.parametrize("key", ["limits.minutes", "limits.target.minutes"])
async def test_a_limit_of_minutes_ends_a_training_that_has_not_begun(tmp_path: Path, key: str) -> None:
    """Below what any call takes: not even the baseline is measured."""
    with pytest.raises(LimitReached, match=rf"{key} is 1e-09"):
        await train(configured(tmp_path, {key: 1e-9}))


async def test_a_limit_of_minutes_of_the_optimizer_leaves_the_baseline(tmp_path: Path) -> None:
    """limits.optimizer.minutes."""
    outcome = await train(configured(tmp_path, {"limits.optimizer.minutes": 1e-9}))
    assert outcome.state is EndState.LIMIT_REACHED
    assert "optimizer" not in paid(outcome)


@pytest.mark.parametrize(
    ("key", "most"), [("limits.dollars", 0.4), ("limits.target.dollars", 0.12), ("limits.optimizer.dollars", 0.3)]
)
async def test_a_limit_of_dollars_ends_a_training_whose_prices_are_known(tmp_path: Path, key: str, most: float) -> None:
    """Here a token costs 0.0001 dollars."""
    outcome = await train(configured(tmp_path, {**PRICED, key: most}))
    assert outcome.state is EndState.LIMIT_REACHED
    role = key.removeprefix("limits.").rpartition(".")[0]
    tokens = sum(numbers[1] for name, numbers in paid(outcome).items() if role in ("", name))
    assert most <= tokens / 10_000 < most + 0.15
