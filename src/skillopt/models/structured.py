"""Reading structured replies: from the optimizer's raw text to a validated value, or to a counted drop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict

from skillopt.models.base import ChatModel, ReplySchema
from skillopt.types import Message, Place


class Reply(BaseModel):
    """Base of every structured reply: tolerant where the meaning is clear, so unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @classmethod
    def reply_schema(cls) -> ReplySchema:
        """The schema that the reply is constrained to where the provider can; strict where validation is tolerant."""
        return ReplySchema(cls.__name__.lower(), cls.model_json_schema())


ReplyT = TypeVar("ReplyT", bound=Reply)


@dataclass(frozen=True, slots=True)
class Answer(Generic[ReplyT]):
    """What came of one structured question.

    Attributes:
        value: The validated reply, or None where it was dropped.
        repaired: Whether small damage in its JSON was mended.
        asked_again: Whether it took the one further request that shows the error.
        dropped: Why there is no value, in words; "" where there is one.
    """

    value: ReplyT | None
    repaired: bool = False
    asked_again: bool = False
    dropped: str = ""


async def ask(model: ChatModel, messages: Sequence[Message], place: Place, schema: type[ReplyT]) -> Answer[ReplyT]:
    """Ask a model for a structured reply."""
    raise NotImplementedError
