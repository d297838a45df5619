"""A run that ended, copies of it that are spoiled, and starts on them that say what they paid."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.runs import SMALL, write_run

from skillopt.api import train
from skillopt.events import Event, RunEnded, Spent
from skillopt.simulation.world import World


@dataclass(frozen=True)
class Whole:
    """A run that ended, and its directory as it was just before the evidence was closed, log and all."""

    config: Path
    directory: Path
    unclosed: Path

    def copy(self, target: Path, *, unclosed: bool = False) -> Path:
        """Return a copy of the run's directory."""
        return shutil.copytree(self.unclosed if unclosed else self.directory, target)

    async def go_on(self, run: Path, *overrides: str) -> int:
        """Start on a copy, and return how many calls were paid."""
        paid: list[int] = []

        def watch(event: Event) -> None:
            if isinstance(event, Spent):
                paid.append(sum(event.paid_calls.values()))

        await train(self.config, [f"env.out_root={run}", *overrides], subscribers=[watch])
        return paid[-1]


def play_whole(folder: Path, world: World = SMALL, settings: Mapping[str, Any] | None = None) -> Whole:
    """Write a run over the simulated models and play it to its end."""
    config, unclosed = write_run(folder, world, settings=settings), folder / "unclosed"

    def copy(event: Event) -> None:
        if isinstance(event, RunEnded):
            shutil.copytree(folder / "run", unclosed)

    outcome = asyncio.run(train(config, subscribers=[copy]))
    assert unclosed.joinpath("evidence.sqlite-wal").stat().st_size > 0
    return Whole(config, outcome.directory, unclosed)
