"""Who finishes first decides nothing."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from tests.support.runs import SMALL, views, write_run

from skillopt.api import train
from skillopt.digests import digest
from skillopt.simulation.optimizer import SimulatedOptimizer
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.target import SimulatedTarget
from skillopt.simulation.weather import Call


class Shuffle:
    """Holds each call back for a number of turns of the event loop that follows from its content and a salt."""

    salt = 0

    async def __call__(self, call: Call) -> None:
        turns = int(digest([self.salt, dict(call.body)])[:4], 16) % 60 if self.salt else 0
        for _ in range(turns):
            await asyncio.sleep(0)


async def test_one_at_a_time_or_many_in_any_order_it_is_the_same_run(tmp_path: Path) -> None:
    """More 14, F130: every file that people read is byte for byte the same, the summary too."""
    shuffle, found, arrivals = Shuffle(), list[dict[str, Any]](), list[list[str]]()
    noisy = SimulatedTarget(SMALL, noise=0.1)
    careless = SimulatedOptimizer(SMALL, harmful=0.2, malformed=0.2)
    async with SimulatedServer(SMALL, target=noisy, optimizer=careless, delay=shuffle) as server:
        for salt, most in ((0, 1), (1, 16), (2, 5)):
            shuffle.salt, before = salt, len(server.calls)
            limits = {"env.workers": most, "gradient.analyst_workers": most, "env.out_root": f"run{salt}"}
            await train(write_run(tmp_path, server=server, settings=limits))
            found.append(views(tmp_path / f"run{salt}"))
            arrivals.append([digest(dict(call.body)) for call in server.calls[before:]])
    assert found[0] == found[1] == found[2]
    assert {"history.json", "summary.json", "best_skill.md"} < set(found[0])
    assert sorted(arrivals[0]) == sorted(arrivals[1]) == sorted(arrivals[2])
