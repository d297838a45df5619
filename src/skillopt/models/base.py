"""The one protocol every model speaks, and the values that cross it.

A model is anything with an identity and an async `reply`. Providers implement it, and thin wrappers (retry, limiter,
meter, journal) implement it around another model, so they can be stacked in any order and tested alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from skillopt.types import JsonValue, Message, Place, Usage


@dataclass(frozen=True, slots=True)
class ReplySchema:
    """A JSON schema that a reply must follow.

    Attributes:
        name: Short identifier, letters and underscores, as providers ask for one.
        schema: The JSON schema. Sent to providers that constrain decoding to a schema; others read it in the prompt.
    """

    name: str
    schema: Mapping[str, JsonValue]

    @classmethod
    def of_object(cls, name: str, properties: Mapping[str, JsonValue]) -> ReplySchema:
        """Return the schema of an object with these fields, all of them required, and no others."""
        schema: dict[str, JsonValue] = {"type": "object", "properties": dict(properties), "required": list(properties)}
        return cls(name, {**schema, "additionalProperties": False})


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """What is asked of a model.

    Attributes:
        messages: The conversation, oldest first; a system message, if any, comes first.
        place: Where in the run it is asked: for the journal and the meter; never sent.
        schema: The form the reply must have, or None for free text.
    """

    messages: tuple[Message, ...]
    place: Place
    schema: ReplySchema | None = None


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What a model answered.

    Attributes:
        text: The answer, without reasoning that the provider keeps apart.
        finish_reason: "stop", "length" (cut at the token limit), "content_filter", or the provider's own word.
        reasoning: Reasoning that the provider keeps apart from the answer; "" if none.
        usage: Tokens of this call; `calls` is 1.
        model: Which model answered, as the provider names it; "" where it does not say, and in a reply from the
            evidence. For those who watch: nothing depends on it.
    """

    text: str
    finish_reason: str = "stop"
    reasoning: str = ""
    usage: Usage = field(default_factory=lambda: Usage(calls=1))
    model: str = field(default="", compare=False)

    @property
    def cut(self) -> bool:
        """Whether the reply ended at a token limit and so is not whole."""
        return self.finish_reason == "length"


class ChatModel(Protocol):
    """A model that answers a conversation.

    `identity` is all that determines its replies and holds no secret: provider, model name, address, sampling settings.
    Two models with equal identities may share evidence.

    `reply` raises `TransientModelError` for what may pass, `FatalModelError` for what will not, and nothing else of
    its own; cancelling it stops the work it started. `close` gives back connections and may be called twice.
    """

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """All that determines a reply besides the request."""
        ...

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Answer a conversation."""
        ...

    async def close(self) -> None:
        """Give back what the model holds; safe to call twice."""
        ...
