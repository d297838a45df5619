"""Whole runs over the simulated models, in process or over HTTP, and what they leave on disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.world import World

SMALL = World(5, rules=4, tasks=32)
"""A world whose whole training takes a moment: 16 training, 8 selection and 8 test tasks."""

EVENTFUL: Mapping[str, Any] = {
    "model.target.name": f"simulated:target?{urlencode({**SMALL.identity, 'noise': 0.2})}",
    "train.num_epochs": 4,
    "train.batch_size": 8,
    "optimizer.redraw": 1,
    "optimizer.slow_update_gate_with_selection": True,
    "evaluation.refresh": 1,
    "evaluation.remeasure": True,
    "evaluation.repeats": 2,
    "evaluation.vet": 2,
    "skill.max_tokens": 4000,
}
"""Redraws, fresh passes, second measurements, slow updates that the gate takes and refuses."""

KEPT_APART = (
    "config.yaml",
    "events.jsonl",
    "evidence.sqlite",
    "evidence.sqlite-shm",
    "evidence.sqlite-wal",
    "ledger.csv",
    "run.lock",
    "trackers.json",
)
"""Files of a run directory that hold its own path or clock readings, say how the run went, or are no view."""


def write_run(
    directory: Path,
    world: World = SMALL,
    *,
    server: SimulatedServer | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """Write tasks, seed skill and a configuration, and return the latter's path.

    Args:
        directory: Where; made if need be.
        world: Whose tasks and models.
        server: Where both models are asked; in process without one.
        settings: Further settings by dotted key; they win.
    """
    directory.mkdir(parents=True, exist_ok=True)
    world.write(directory / "tasks.jsonl")
    (directory / "seed_skill.md").write_text(world.seed_skill(), "utf-8")
    values: dict[str, Any] = {
        "train.num_epochs": 2,
        "train.batch_size": 4,
        "gradient.minibatch_size": 2,
        "train.sampling": "all",
        "optimizer.learning_rate": 2,
        "optimizer.min_learning_rate": 1,
        "optimizer.lr_scheduler": "cosine",
        "evaluation.vet": 0,
        "evaluation.gate_block": 2,
        "report.picture": False,
        "env.data_path": "tasks.jsonl",
        "env.skill_init": "seed_skill.md",
        "env.split_ratio": "2:1:1",
        "env.out_root": "run",
    }
    for role in ("target", "optimizer"):
        if server is None:
            values[f"model.{role}.name"] = f"simulated:{role}?{urlencode(world.identity)}"
        else:
            values[f"model.{role}.name"] = f"compatible:simulated-{role}"
            values[f"model.{role}.base_url"] = server.base_url
            values[f"model.{role}.attempts"] = 1
    path = directory / "config.yaml"
    # JSON is YAML.
    path.write_text(json.dumps(nested({**values, **(settings or {})}), indent=1), "utf-8")
    return path


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings by dotted key as sections."""
    sections: dict[str, Any] = {}
    for key, value in values.items():
        *path, name = key.split(".")
        section = sections
        for part in path:
            section = section.setdefault(part, {})
        section[name] = value
    return sections


def read_json(path: Path) -> Any:
    """Read a JSON file."""
    return json.loads(path.read_text("utf-8"))


def views(directory: Path) -> dict[str, Any]:
    """Return all that a run directory shows and two equal runs have in common, by file.

    Files are bytes; in the records of steps, `timing` is taken out.
    """
    found: dict[str, Any] = {}
    for path in sorted(directory.rglob("*")):
        name = path.relative_to(directory).as_posix()
        if not path.is_file() or name in KEPT_APART:
            continue
        found[name] = path.read_bytes()
        if path.name in ("history.json", "step_record.json"):
            records = read_json(path)
            for record in records if isinstance(records, list) else [records]:
                del record["timing"]
            found[name] = json.dumps(records)
    return found


def contents(directory: Path) -> dict[str, bytes]:
    """Everything in a directory, byte for byte."""
    files = [path for path in sorted(directory.rglob("*")) if path.is_file()]
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}
