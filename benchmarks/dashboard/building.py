"""The runs that the live page is measured with: trained by the product over simulated models, and copied by links.

They are views of real trainings, file by file; only that a hundred runs are one run a hundred times is not as it would
be. What was built once is used again: delete the directory to build it anew.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from skillopt.api import train
from skillopt.simulation.world import World

NOISE = 0.25
"""The target slips this often, so that no skill is ever perfect and every step is played."""


@dataclass(frozen=True)
class Shape:
    """The size of a training.

    Attributes:
        tasks: Of the world: half of them are for training, a quarter for selection.
        batch: Training tasks a step; every candidate is measured on the whole selection split.
        steps: How many.
    """

    tasks: int
    batch: int
    steps: int

    @property
    def rollouts(self) -> int:
        """About how many rollouts its steps have."""
        return self.steps * (self.batch + self.tasks // 4)


LONG, SHORT = Shape(64, 4, 200), Shape(64, 4, 20)
LARGE, SMALL = Shape(400, 100, 75), Shape(400, 100, 8)
MANY, FEW = 100, 10
"""Runs in a directory."""


@dataclass(frozen=True)
class Built:
    """Directories of runs, each against one of a tenth of its size.

    Attributes:
        many: A hundred runs of 200 steps.
        few: Ten runs of 20 steps.
        large: One run with 15,000 rollouts.
        small: One run with 1,600.
    """

    many: Path
    few: Path
    large: Path
    small: Path


def build(directory: Path) -> Built:
    """Return the runs in a directory; those that are not there yet are made."""
    built = Built(*(directory / name for name in ("many", "few", "large", "small")))
    for place, shape, copies in (
        (built.few, SHORT, FEW),
        (built.small, SMALL, 1),
        (built.many, LONG, MANY),
        (built.large, LARGE, 1),
    ):
        if not place.is_dir():
            print(
                f"building {place.name}: {copies} x {shape.steps} steps, {shape.rollouts:,} rollouts each", flush=True
            )
            build_runs(place, shape, copies=copies)
    return built


def build_runs(place: Path, shape: Shape, *, copies: int) -> None:
    """Train once, and put so many runs of it into a directory."""
    making = place.with_name(f"{place.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    world = making / "world"
    outcome = asyncio.run(train(_write(world, shape)))
    for number in range(copies):
        # Links cost no room; nothing here writes into them, and the product only ever replaces a file whole.
        run = shutil.copytree(outcome.directory, making / f"run-{number:03d}", copy_function=os.link)
        log = (run / "events.jsonl").read_bytes()
        (run / "events.jsonl").unlink()
        (run / "events.jsonl").write_bytes(log)  # the one file that a training appends to
    shutil.rmtree(world)
    making.rename(place)


def _write(directory: Path, shape: Shape) -> Path:
    directory.mkdir(parents=True)
    world = World(5, rules=24, tasks=shape.tasks)
    world.write(directory / "tasks.jsonl")
    (directory / "seed_skill.md").write_text(world.seed_skill(), "utf-8")
    identity = urlencode(world.identity)
    settings = {
        "model": {
            "target": {"name": f"simulated:target?{identity}&noise={NOISE}"},
            "optimizer": {"name": f"simulated:optimizer?{identity}"},
        },
        "train": {
            "num_epochs": max(1, -(-shape.steps * shape.batch // (shape.tasks // 2))),
            "batch_size": shape.batch,
            "sampling": "all",
        },
        "gradient": {"minibatch_size": max(2, shape.batch // 4)},
        "optimizer": {"use_slow_update": False, "use_meta_skill": False},
        # One block, so that nothing is left out of a candidate that loses early.
        "evaluation": {"gate_block": shape.tasks, "vet": 0},
        "env": {
            "data_path": "tasks.jsonl",
            "skill_init": "seed_skill.md",
            "split_ratio": "2:1:1",
            "out_root": "run",
        },
    }
    path = directory / "config.yaml"
    path.write_text(json.dumps(settings), "utf-8")  # JSON is YAML
    return path
