"""A training in a process of its own that goes on as far as a test lets it, so that what follows it can be looked at.

Both models are the simulated server's, which the test holds: it answers up to a call of the optimizer, and the rest
waits until the test lets it go on. No clock is needed: what is shown at a held call is what will be shown for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from tests.support.children import play, processes
from tests.support.runs import SMALL, read_json, write_run

from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call


@dataclass
class Sluice:
    """Holds back the optimizer's calls from a number on, and the target's calls that come while one is held.

    Attributes:
        held: Calls that wait.
    """

    held: int = 0
    _passed: int = 0
    _most: int = 0
    _changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def __call__(self, call: Call) -> None:
        """Wait until a call may be answered."""
        if call.model != "optimizer":
            return
        async with self._changed:
            self.held += 1
            self._changed.notify_all()
            try:
                await self._changed.wait_for(lambda: self._passed < self._most)
                self._passed += 1
            finally:
                self.held -= 1

    async def let(self, calls: int) -> None:
        """Let so many more calls of the optimizer go, and return when the next one is held."""
        async with self._changed:
            self._most = self._passed + calls
            self._changed.notify_all()
            await self._changed.wait_for(lambda: self._passed == self._most and self.held > 0)

    async def open(self) -> None:
        """Let everything go."""
        async with self._changed:
            self._most = 1_000_000
            self._changed.notify_all()


@dataclass
class Training:
    """A training that is held.

    Attributes:
        config: Its configuration.
        directory: Its run directory.
        sluice: What holds it.
        process: What trains; None before it was started.
    """

    config: Path
    directory: Path
    sluice: Sluice
    process: ForkServerProcess | None = None

    def start(self) -> None:
        """Begin, or go on after a kill."""
        self.process = processes().Process(target=play, args=(self.config,))
        self.process.start()

    async def committed(self, step: int) -> None:
        """Let it go on until a step is final, and hold it at the optimizer's next call."""
        while read_json(self.directory / "history.json")[-1]["step"] < step:
            await self.sluice.let(1)

    async def kill(self) -> None:
        """End it by SIGKILL, in the middle of whatever it does."""
        assert self.process is not None
        self.process.kill()
        await self.ended()

    async def ended(self) -> None:
        """Wait for its end."""
        assert self.process is not None
        await asyncio.to_thread(self.process.join)


@asynccontextmanager
async def held_training(
    directory: Path, name: str = "run", *, settings: Mapping[str, Any] | None = None
) -> AsyncGenerator[Training]:
    """Prepare a training in a directory of its own below `directory`; what is left of it at the end is killed."""
    sluice = Sluice()
    async with SimulatedServer(SMALL, delay=sluice) as server:
        config = write_run(directory / "worlds" / name, server=server, settings={
            "env.out_root": str(directory / "runs" / name), "gradient.analyst_workers": 1, **(settings or {})
        })  # fmt: skip
        training = Training(config, directory / "runs" / name, sluice)
        try:
            yield training
        finally:
            if training.process is not None and training.process.is_alive():
                await training.kill()
