"""A model that says what a script gives it: for tests, and to try a stage without any model."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias

from skillopt.errors import FatalModelError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.simulation.replies import simulated_reply
from skillopt.types import JsonValue

Said: TypeAlias = str | Mapping[str, Any] | ChatReply | Exception
"""What a script gives for a request: a text, an object that becomes JSON text, a whole reply, or what is raised."""

Script: TypeAlias = Sequence[Said] | Callable[[ChatRequest], Said | Awaitable[Said]]
"""What is said to the first, second, ... request; or a function of the request, which may wait before it answers."""


class ScriptedModel(ChatModel):
    """A model that follows a script.

    Args:
        script: What it says. A sequence is for requests that come one after the other: of several at once it answers
            in the order of their arrival. When it is used up, a request is a `FatalModelError`.
        name: Tells two scripts apart in the identity: models with equal names may share evidence.

    Attributes:
        requests: Every request, in the order of arrival.
    """

    def __init__(self, script: Script, *, name: str = "scripted") -> None:
        self._script = script
        self._name = name
        self.requests: list[ChatRequest] = []

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The script's name; says that the model is simulated."""
        return {"provider": "simulated", "simulated": True, "model": self._name}

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Say what the script gives for this request."""
        self.requests.append(request)
        said = await self._said(request, number=len(self.requests) - 1)
        if isinstance(said, Exception):
            raise said
        if isinstance(said, ChatReply):
            return said
        return simulated_reply(request, said if isinstance(said, str) else json.dumps(said, ensure_ascii=False))

    async def close(self) -> None:
        """Nothing to give back."""

    async def _said(self, request: ChatRequest, *, number: int) -> Said:
        if not callable(self._script):
            if number < len(self._script):
                return self._script[number]
            return FatalModelError(f"{self._name}: the script holds {len(self._script)} replies and all are used")
        said = self._script(request)
        return await said if inspect.isawaitable(said) else said
