"""A limit ends a training in order, and a higher one goes on as if there had been none."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import read_json, views, write_run

from skillopt.api import train
from skillopt.errors import LimitReached
from skillopt.run.outcome import EndState, Outcome
from skillopt.simulation.world import World

WORLD = World(5, rules=4, tasks=20)
PRICED = {f"model.{role}.price": {"input": 100.0, "output": 100.0} for role in ("target", "optimizer")}


def configured(directory: Path, limits: dict[str, Any]) -> Path:
    directory.mkdir(exist_ok=True)
    return write_run(directory, WORLD, settings=limits)


def paid(outcome: Outcome) -> dict[str, list[dict[str, float]]]:
    """What each call that was paid came to, over all starts, by role."""
    with closing(sqlite3.connect(outcome.directory / "evidence.sqlite")) as database:
        rows = database.execute("SELECT role, calls, fresh_tokens + output_tokens, dollars FROM payments").fetchall()
    calls: dict[str, list[dict[str, float]]] = {"target": [], "optimizer": []}
    for role, number, tokens, dollars in rows:
        calls[role].append({"calls": number, "tokens": tokens, "dollars": dollars})
    return {role: sorted(of_role, key=str) for role, of_role in calls.items()}


LIMITS: dict[str, float] = {
    "limits.calls": 14,
    "limits.tokens": 3000,
    "limits.dollars": 0.4,
    "limits.target.calls": 12,
    "limits.target.tokens": 1200,
    "limits.target.dollars": 0.12,
    "limits.optimizer.calls": 2,
    "limits.optimizer.tokens": 3000,
    "limits.optimizer.dollars": 0.3,
}
"""One of each; a token costs 0.0001 dollars here."""


@pytest.mark.parametrize("key", LIMITS)
@pytest.mark.parametrize("concurrency", [1, 16])
async def test_at_a_limit_a_training_ends_in_order_and_a_higher_one_goes_on(
    tmp_path: Path, key: str, concurrency: int
) -> None:
    """Each of limits.calls, tokens, dollars and of target and optimizer: at most one call's own cost is above it."""
    most, in_flight = LIMITS[key], {f"model.{role}.concurrency": concurrency for role in ("target", "optimizer")}
    stopped = await train(configured(tmp_path, {**PRICED, **in_flight, key: most}))
    assert stopped.state is EndState.LIMIT_REACHED
    assert f"{key} is {most:g}" in stopped.message
    assert stopped.message.endswith("raise the limit and run the same command again to go on.")
    scope, _, amount = key.removeprefix("limits.").rpartition(".")
    costs = [call[amount] for role, calls in paid(stopped).items() if scope in ("", role) for call in calls]
    used = math.fsum(costs)
    assert most <= used
    assert used <= most if amount == "calls" else used < most + max(costs)
    assert read_json(stopped.directory / "summary.json")["state"] == "limit_reached"
    assert (stopped.directory / "best_skill.md").exists()

    gone_on = await train(configured(tmp_path, {**PRICED, key: 100 * most}))
    free = await train(configured(tmp_path, {**PRICED, "env.out_root": "free"}))
    assert views(gone_on.directory) == views(free.directory)
    assert paid(gone_on) == paid(free), "nothing is paid twice"


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
    assert paid(outcome)["optimizer"] == []
