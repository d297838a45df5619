"""The chat harness: the skill as system message, the presented task after it, one reply."""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.environments.base import Presentation
from skillopt.models.base import ChatModel, ChatRequest
from skillopt.types import JsonValue, Message, Place, Trajectory


class ChatHarness:
    """One chat turn of the target.

    Args:
        target: The target model.
    """

    def __init__(self, target: ChatModel) -> None:
        self._target = target

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The kind of harness and the target behind it."""
        return {"harness": "chat", "target": dict(self._target.identity)}

    async def perform(self, skill_text: str, presentation: Presentation, place: Place) -> Trajectory:
        """Ask the target once. Nothing variable stands ahead of the skill, so a prefix cache can hold it."""
        system = (Message("system", skill_text),) if skill_text.strip() else ()
        reply = await self._target.reply(ChatRequest(system + presentation.messages, place))
        return Trajectory(
            turns=(*presentation.messages, Message("assistant", reply.text)),
            output=reply.text,
            finish_reason=reply.finish_reason,
            usage=reply.usage,
        )
