"""One finished run that the tests of its views share."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import read_json, write_run

from skillopt.api import train
from skillopt.events import Event, StepCommitted
from skillopt.run.outcome import Outcome
from skillopt.simulation.world import World

RICH = World(51, rules=9, tasks=40)
"""A world whose training shows nearly everything: ten steps, acceptances, early stops, a skip, a repair, a re-ask."""


WITHIN_EPOCHS = {"optimizer.use_slow_update": False, "optimizer.use_meta_skill": False}
"""What happens between epochs is shown in tests of its own: guidance would solve this world before its steps do."""


@dataclass
class Finished:
    """A run that is over.

    Attributes:
        config: Its configuration file.
        outcome: What it came to.
        events: What its subscriber was told.
        seen: What history.json held whenever a step was committed.
    """

    config: Path
    outcome: Outcome
    events: list[Event]
    seen: list[list[dict[str, Any]]]

    @property
    def directory(self) -> Path:
        return self.outcome.directory

    @property
    def history(self) -> list[dict[str, Any]]:
        return read_json(self.directory / "history.json")

    @property
    def summary(self) -> dict[str, Any]:
        return read_json(self.directory / "summary.json")

    def step_directory(self, record: dict[str, Any]) -> Path:
        return self.directory / "steps" / f"step_{record['step']:04d}"


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    config = write_run(tmp_path_factory.mktemp("finished"), RICH, settings=WITHIN_EPOCHS)
    events: list[Event] = []
    seen: list[list[dict[str, Any]]] = []

    def watch(event: Event) -> None:
        events.append(event)
        if isinstance(event, StepCommitted):
            seen.append(read_json(config.parent / "run" / "history.json"))

    outcome = asyncio.run(train(config, subscribers=[watch]))
    return Finished(config, outcome, events, seen)
