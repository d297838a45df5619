"""What an environment is: how a task is presented to the target, and how a trajectory is scored.

A new environment is a subclass of `Environment` in any Python file that a configuration names (`env.name: my_env.py`)
or that an entry point of the group `skillopt.environments` offers. It needs no edit of this package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, cast

from pydantic import BaseModel, ConfigDict

from skillopt.types import JsonValue, Message, Score, Task, Trajectory


class EnvironmentSettings(BaseModel):
    """Base of an environment's own keys in the `env` section; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


SettingsT = TypeVar("SettingsT", bound=EnvironmentSettings)


@dataclass(frozen=True, slots=True)
class Presentation:
    """A task as the target meets it. The harness puts the skill ahead of it, as the system message.

    Attributes:
        messages: What the target is asked; the same for every skill, so that a prefix cache can serve the skill.

    Raises:
        TypeError: If the messages are not messages with a text each.
    """

    messages: tuple[Message, ...]

    def __post_init__(self) -> None:
        given = cast("object", self.messages)
        if not isinstance(given, list | tuple):
            raise TypeError(f"messages is {given!r:.100}; it must be a tuple of Message")
        for message in cast("Sequence[object]", given):
            if not (isinstance(message, Message) and isinstance(cast("object", message.content), str)):
                raise TypeError(f"a message is {message!r:.100}; it must be a Message with a text")
        object.__setattr__(self, "messages", tuple(self.messages))


class Environment(ABC, Generic[SettingsT]):
    """Tasks of one kind: how they are shown and how their trajectories are scored.

    Presenting and scoring must be functions of their arguments and the settings alone: they are part of a run that has
    to give the same bytes twice. Whatever changes what they do must change `identity`.
    """

    name: ClassVar[str]
    """The name that `env.name` picks it by."""

    version: ClassVar[str] = "1"
    """Raised whenever presenting or scoring changes, so that old evidence is not mistaken for new."""

    code: ClassVar[str] = ""
    """Which code this is, where the package's version does not say it: set by the loader, a digest or a release."""

    Settings: ClassVar[type[EnvironmentSettings]] = EnvironmentSettings
    """The environment's own keys in the `env` section."""

    def __init__(self, settings: SettingsT) -> None:
        self.settings = settings

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """All that determines presentation and score besides the task and the trajectory."""
        parts: dict[str, JsonValue] = {
            "name": self.name,
            "version": self.version,
            "settings": self.settings.model_dump(mode="json"),
        }
        return parts | {"code": self.code} if self.code else parts

    @property
    def purpose(self) -> str:
        """What the skill is for and what it cannot change, in a sentence or two that the optimizer reads."""
        return ""

    def check(self, task: Task) -> None:
        """Raise `DataError` with the task's location if the task lacks what this environment needs."""

    def warnings(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """Return what a person should know about these tasks before training, one sentence each; no errors."""
        return ()

    @abstractmethod
    def present(self, task: Task) -> Presentation:
        """Return the task as the target meets it."""

    @abstractmethod
    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """Score a trajectory; the feedback says what was expected and what came, and gives no canned advice."""
