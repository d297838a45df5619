"""The example that trains in seconds without a model or a key: task file, seed skill and configuration of a world."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urlencode

from skillopt.simulation.opening import PROVIDER
from skillopt.simulation.world import World

EXAMPLE_SEED: Final = 7
"""Seed of the world that `examples/simulated` holds."""

_CONFIGURATION = """\
# A simulated world: both models are programs with known ground truth. The loop is the real one; the scores say nothing
# about any real model. For a hosted model, change the two names, such as `openai:gpt-5.5`, and bring your own tasks.
# Written by `write_example` (skillopt.simulation.example).
model:
  optimizer:
    name: "{optimizer}"
  target:
    name: "{target}"

train:
  num_epochs: 2
  batch_size: 12

optimizer:
  learning_rate: 4
  min_learning_rate: 2

env:
  name: question_answering
  data_path: tasks.jsonl
  split_ratio: "2:1:1"
  skill_init: seed_skill.md
"""


def write_example(directory: Path, world: World) -> None:
    """Write `config.yaml`, `tasks.jsonl` and `seed_skill.md` of a world into a directory, which is made if need be."""
    directory.mkdir(parents=True, exist_ok=True)
    parameters = urlencode(world.identity)
    configuration = _CONFIGURATION.format(
        optimizer=f"{PROVIDER}:optimizer?{parameters}", target=f"{PROVIDER}:target?{parameters}"
    )
    (directory / "config.yaml").write_text(configuration, encoding="utf-8", newline="\n")
    (directory / "seed_skill.md").write_text(world.seed_skill(), encoding="utf-8", newline="\n")
    world.write(directory / "tasks.jsonl")
