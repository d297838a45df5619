"""A reply without an answer is no answer: for targets, whose blank reply would else be scored as a failed task.

Where a reply is blank because it was cut at its token limit, or because the provider withheld it, that is what the
target did with the task, and it is scored. Anything else that is blank is a fault of the moment, and is asked again.
"""

from __future__ import annotations

from collections.abc import Mapping

from skillopt.errors import TransientModelError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.types import JsonValue

_ENDS_WITHOUT_ANSWER = frozenset({"length", "content_filter", "refusal"})
"""Finish reasons that say why there is nothing."""


def answers(reply: ChatReply) -> bool:
    """Whether a reply says something, or why it does not."""
    return bool(reply.text.strip()) or reply.finish_reason in _ENDS_WITHOUT_ANSWER


class AnsweringModel(ChatModel):
    """A model whose blank replies are failures that may pass. It belongs inside the retry and outside the meter.

    Args:
        model: The model behind it.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The identity of the model behind it: what it refuses was no reply."""
        return self._model.identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Ask the model.

        Raises:
            TransientModelError: If the reply is blank and does not say why.
        """
        reply = await self._model.reply(request)
        if answers(reply):
            return reply
        found = "holds only reasoning" if reply.reasoning.strip() else "is empty"
        name = f"{self.identity.get('provider')}:{self.identity.get('model')}"
        raise TransientModelError(f"{name}: the reply {found} (finish reason {reply.finish_reason})")

    async def close(self) -> None:
        """Close the model behind it."""
        await self._model.close()
