"""What a run directory has recorded of a skill: rollouts that were paid by a training or an evaluation on it.

Nothing is asked and nothing is measured here; a task without a record is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from skillopt.errors import RunDirectoryError
from skillopt.evaluation.keys import measurement_protocol, rollout_key
from skillopt.run.evidence import EvidenceStore
from skillopt.run.setup import Setup
from skillopt.skill.document import Skill
from skillopt.types import JsonValue, Rollout, Task


def recorded_rollouts(setup: Setup, skill: Skill, tasks: Iterable[Task], *, directory: Path) -> dict[str, Rollout]:
    """Return the first rollout of a skill on each task that is recorded, by the task's id.

    Args:
        setup: Of the run: its environment is part of what a rollout is recorded under.
        skill: Whose rollouts.
        tasks: On what.
        directory: The run directory.

    Raises:
        RunDirectoryError: If it has no evidence, or does not say with which target it was measured.
    """
    path = directory / "evidence.sqlite"
    if not path.is_file():
        raise RunDirectoryError(f"{directory} has no evidence.sqlite", hint="Name a run directory.")
    # The only harness there is, of the target as it named itself when the run was played.
    harness: Mapping[str, JsonValue] = {"harness": "chat", "target": _target(directory)}
    protocol = measurement_protocol(setup.environment.identity, harness)
    found: dict[str, Rollout] = {}
    with EvidenceStore(path) as evidence:
        for task in tasks:
            key = rollout_key(protocol, skill_digest=skill.digest, task_digest=task.digest, repeat=0)
            rollout = evidence.get_rollout(key, task)
            if rollout is not None:
                found[task.id] = rollout
    return found


def _target(directory: Path) -> dict[str, Any]:
    path = directory / "summary.json"
    try:
        target = json.loads(path.read_text("utf-8"))["models"]["target"]
        if isinstance(target, dict):
            return target  # pyright: ignore[reportUnknownVariableType]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    raise RunDirectoryError(
        f"{path} does not say with which target the run was measured",
        hint="Let the run end once, at a limit if need be: it is written then.",
    )
