"""The example that is shipped is the one that the code writes."""

from __future__ import annotations

from pathlib import Path

import yaml

from skillopt.simulation.example import EXAMPLE_SEED, write_example
from skillopt.simulation.opening import open_simulated
from skillopt.simulation.world import World

SHIPPED = Path(__file__).parents[2] / "examples" / "simulated"


def test_the_shipped_example_is_what_the_code_writes(tmp_path: Path) -> None:
    write_example(tmp_path / "made", World(EXAMPLE_SEED))
    written = {path.name: path.read_bytes() for path in (tmp_path / "made").iterdir()}
    assert {path.name: path.read_bytes() for path in SHIPPED.iterdir()} == written
    assert set(written) == {"config.yaml", "tasks.jsonl", "seed_skill.md"}


def test_both_models_of_the_example_live_in_its_world(tmp_path: Path) -> None:
    world = World(3, rules=5, tasks=20, rules_per_task=2)
    write_example(tmp_path, world)
    models = yaml.safe_load((tmp_path / "config.yaml").read_text("utf-8"))["model"]
    for role in ("target", "optimizer"):
        identity = open_simulated(models[role]["name"]).identity
        assert identity["model"] == role
        assert identity["world"] == dict(world.identity)
