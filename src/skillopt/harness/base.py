"""What a harness is: the way a target does a task.

`chat` asks once and takes the answer. Later kinds loop over tools or drive an external agent; all of them turn a skill
and a presented task into a trajectory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from skillopt.environments.base import Presentation
from skillopt.types import JsonValue, Place, Trajectory


class Harness(Protocol):
    """A way for the target to do a task.

    `identity` is all that determines a trajectory besides the skill and the presentation: the kind of harness and the
    target's own identity. `perform` raises `ModelError`; cancelling it stops all that it started.
    """

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """All that determines a trajectory besides the skill and the presented task."""
        ...

    async def perform(self, skill_text: str, presentation: Presentation, place: Place) -> Trajectory:
        """Do the presented task with the skill before the target's eyes."""
        ...
