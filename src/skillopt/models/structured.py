"""Reading structured replies: from the optimizer's raw text to a validated value, or to a counted drop."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt.errors import UnusableReplyError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest, ReplySchema
from skillopt.models.reply_text import read_json
from skillopt.types import JsonValue, Message, Place

_MOST_PROBLEMS = 3
"""Validation problems that a second request shows."""
_MOST_PROBLEM_CHARACTERS = 300
_SHOWN_CHARACTERS = 2000
"""How much of a cut reply a second request shows; all of it could be more than the model can read."""


class Reply(BaseModel):
    """Base of every structured reply: tolerant where the meaning is clear, so unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    @classmethod
    @abstractmethod
    def reply_schema(cls) -> ReplySchema:
        """The schema that the reply is constrained to where the provider can; strict where validation is tolerant.

        Every field is required and no other is allowed, as constrained decoding asks for.
        """


ReplyT = TypeVar("ReplyT", bound=Reply)


@dataclass(frozen=True, slots=True)
class Answer(Generic[ReplyT]):
    """What came of one structured question.

    Attributes:
        value: The validated reply, or None where it was dropped.
        repaired: Whether small damage in its JSON was mended.
        asked_again: Whether it took the one further request that shows the error.
        dropped: Why there is no value, in words; "" where there is one.
        said: What the dropped reply said, whole and hostile, else its reasoning; "" where there is a value.
    """

    value: ReplyT | None
    repaired: bool = False
    asked_again: bool = False
    dropped: str = ""
    said: str = ""


async def ask(
    model: ChatModel,
    messages: Sequence[Message],
    place: Place,
    schema: type[ReplyT],
    *,
    reply_schema: ReplySchema | None = None,
) -> Answer[ReplyT]:
    """Ask a model for a structured reply, and once more where the first one cannot be used.

    A reply that was cut, is empty or holds only reasoning is no proposal, whatever could be read in it.

    Args:
        model: The model to ask.
        messages: The conversation that asks for one JSON value.
        place: Where in the run it is asked; the second request has `attempt` 1.
        schema: The form of the reply.
        reply_schema: What the reply is constrained to where the provider can; by default the schema's own.

    Returns:
        The validated reply, or why there is none; the caller counts.

    Raises:
        TransientModelError: If the model did not answer and may later.
        FatalModelError: If it never will.
    """
    request = ChatRequest(tuple(messages), place, schema=reply_schema or schema.reply_schema())
    reply = await model.reply(request)
    try:
        return _answer(reply, schema, asked_again=False)
    except UnusableReplyError as error:
        again = (*request.messages, *_shown(reply), Message("user", _second_request(error.message)))
    reply = await model.reply(replace(request, messages=again, place=replace(place, attempt=1)))
    try:
        return _answer(reply, schema, asked_again=True)
    except UnusableReplyError as error:
        return Answer(None, asked_again=True, dropped=error.message, said=reply.text or reply.reasoning)


def _answer(reply: ChatReply, schema: type[ReplyT], *, asked_again: bool) -> Answer[ReplyT]:
    if reply.cut:
        raise UnusableReplyError("the reply was cut at its token limit before it was whole")
    if not reply.text.strip():
        raise UnusableReplyError("the reply holds only reasoning" if reply.reasoning.strip() else "the reply is empty")
    reading = read_json(reply.text)
    return Answer(_validated(reading.value, schema), repaired=reading.repaired, asked_again=asked_again)


def _validated(value: JsonValue, schema: type[ReplyT]) -> ReplyT:
    """Validate a value. A list of one object stands for that object, unless the schema itself reads lists."""
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
            return _validated(value[0], schema)
        raise UnusableReplyError(_problems(error)) from error


def _problems(error: ValidationError) -> str:
    """Say what is wrong with a reply: the path of each field and its problem, the first few of them."""
    details = error.errors(include_url=False, include_context=False, include_input=False)
    problems = [
        f"{'.'.join(str(part) for part in detail['loc']) or 'the value'}: {detail['msg']}"[:_MOST_PROBLEM_CHARACTERS]
        for detail in details[:_MOST_PROBLEMS]
    ]
    further = f"; and {len(details) - _MOST_PROBLEMS} more" if len(details) > _MOST_PROBLEMS else ""
    return f"the reply's JSON does not have the form asked for: {'; '.join(problems)}{further}"


def _shown(reply: ChatReply) -> tuple[Message, ...]:
    """Return the reply as the second request shows it; a blank one is not shown, as some providers refuse it."""
    text = reply.text[:_SHOWN_CHARACTERS] if reply.cut else reply.text
    return (Message("assistant", text),) if text.strip() else ()


def _second_request(reason: str) -> str:
    return f"This could not be used: {reason}. Answer once more, with the one JSON value asked for and nothing else."
