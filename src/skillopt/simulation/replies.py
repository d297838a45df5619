"""What the simulated models have in common: how they name themselves and how they count tokens."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from skillopt.models.base import ChatReply, ChatRequest
from skillopt.simulation.world import World
from skillopt.skill.size import estimate_tokens
from skillopt.types import JsonValue, Usage

_tokens: Final = lru_cache(maxsize=64)(estimate_tokens)
"""One skill stands in the requests of many tasks; its size is worked out once."""


def simulated_identity(model: str, world: World, settings: Mapping[str, JsonValue]) -> Mapping[str, JsonValue]:
    """Return the identity of a simulated model: whoever shows its numbers can see what they are."""
    return {
        "provider": "simulated",
        "simulated": True,
        "model": model,
        "world": dict(world.identity),
        "settings": dict(settings),
    }


def simulated_reply(request: ChatRequest, text: str, *, finish_reason: str = "stop") -> ChatReply:
    """Return a reply with its usage, estimated from the lengths of what was asked and said; nothing is cached."""
    asked = sum(_tokens(message.content) for message in request.messages)
    usage = Usage(calls=1, fresh_tokens=asked, output_tokens=estimate_tokens(text))
    return ChatReply(text, finish_reason=finish_reason, usage=usage)


def require_share(name: str, value: float) -> None:
    """Raise ValueError unless a rate is a number from 0 to 1."""
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} is {value!r}; it must be a number from 0 to 1")
