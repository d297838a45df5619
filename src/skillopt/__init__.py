"""SkillOpt trains a skill document for a frozen language-model agent.

The names below are the public API. Each is imported when it is first used, so `import skillopt` stays fast and loads
no client, no plotting library and no model.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from skillopt.api import evaluate, train
    from skillopt.config.load import load_config
    from skillopt.config.schema import Config
    from skillopt.environments.base import Environment, EnvironmentSettings, Presentation
    from skillopt.errors import SkillOptError
    from skillopt.models.base import ChatModel, ChatReply, ChatRequest
    from skillopt.skill.document import Skill
    from skillopt.types import Decision, Edit, Message, Patch, Rollout, Score, Task, Trajectory

__version__: str

__all__ = [
    "ChatModel",
    "ChatReply",
    "ChatRequest",
    "Config",
    "Decision",
    "Edit",
    "Environment",
    "EnvironmentSettings",
    "Message",
    "Patch",
    "Presentation",
    "Rollout",
    "Score",
    "Skill",
    "SkillOptError",
    "Task",
    "Trajectory",
    "evaluate",
    "load_config",
    "train",
]

_HOMES = {
    "skillopt.api": ("evaluate", "train"),
    "skillopt.config.load": ("load_config",),
    "skillopt.config.schema": ("Config",),
    "skillopt.environments.base": ("Environment", "EnvironmentSettings", "Presentation"),
    "skillopt.errors": ("SkillOptError",),
    "skillopt.models.base": ("ChatModel", "ChatReply", "ChatRequest"),
    "skillopt.skill.document": ("Skill",),
    "skillopt.types": ("Decision", "Edit", "Message", "Patch", "Rollout", "Score", "Task", "Trajectory"),
}
"""Where each public name lives."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return import_module("importlib.metadata").version("skillopt")
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
