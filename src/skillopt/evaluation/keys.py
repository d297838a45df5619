"""The keys of a rollout and of its trajectory: all that determines each, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.digests import digest
from skillopt.environments.base import Presentation
from skillopt.types import JsonValue


def measurement_protocol(environment: Mapping[str, JsonValue], harness: Mapping[str, JsonValue]) -> str:
    """Return the digest of how tasks are presented, done and scored: the same for all rollouts of a run.

    Args:
        environment: Identity of what presents and scores.
        harness: Identity of the harness and of the target behind it.
    """
    return digest({"environment": dict(environment), "harness": dict(harness)})


def rollout_key(protocol: str, *, skill_digest: str, task_digest: str, repeat: int) -> str:
    """Return the key under which a rollout is evidence: never a position, a file name or a directory.

    Args:
        protocol: From `measurement_protocol`.
        skill_digest: Of the skill's whole text.
        task_digest: Of the task's content.
        repeat: 0, or the number of a repeat that was asked for.
    """
    return digest([protocol, skill_digest, task_digest, repeat])


def trajectory_key(
    harness: Mapping[str, JsonValue], *, skill_digest: str, task_digest: str, presentation: Presentation, repeat: int
) -> str:
    """Return the key under which a trajectory is evidence: of what was asked and who was, and not of how it is scored.

    Args:
        harness: Identity of the harness and of the target behind it.
        skill_digest: Of the skill's whole text.
        task_digest: Of the task's content.
        presentation: What the target was asked.
        repeat: 0, or the number of a repeat that was asked for.
    """
    messages: list[JsonValue] = [[message.role, message.content] for message in presentation.messages]
    return digest({"harness": dict(harness), "skill": skill_digest, "task": [task_digest, messages], "repeat": repeat})
