"""OpenTelemetry spans of model calls: one for each call that is really sent, from when it is asked to its reply.

Waiting and failed attempts lie within it, as the conventions want it, and are events: one span a call lets a back end
sum its tokens, and who wants the attempts apart has the spans of an instrumented HTTP client below it. Attributes are
those of the semantic conventions for generative AI (semantic-conventions-genai 0.1) and `skillopt.*` for the place in
the run. Nothing that was asked or said is in them, and no key. Whether there are spans at all is `tracing`'s part.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from skillopt.errors import ModelError, ModelTimeoutError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest
from skillopt.models.retry import Retry
from skillopt.models.tracing import Attributes, Tracing
from skillopt.types import JsonValue, Role, Usage

if TYPE_CHECKING:
    from opentelemetry.trace import Span

_PROVIDER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "azure": "azure.ai.openai",
        "bedrock": "aws.bedrock",
        "google": "gcp.gemini",
        "google-cloud": "gcp.vertex_ai",
        "mistral": "mistral_ai",
        "moonshot": "moonshot_ai",
        "xai": "x_ai",
    }
)
"""What the conventions call a provider, where they call it otherwise than a configuration does."""

_REQUEST_SETTINGS: Mapping[str, str] = MappingProxyType(
    {"temperature": "temperature", "max_tokens": "max_tokens", "reasoning_effort": "reasoning.level"}
)


def error_type(error: BaseException) -> str:
    """Return what kind of error it is: an HTTP status, `timeout`, `cancelled`, or the name of what was raised."""
    if isinstance(error, ModelError) and error.status is not None:
        return str(error.status)
    if isinstance(error, ModelTimeoutError):
        return "timeout"
    if isinstance(error, asyncio.CancelledError):
        return "cancelled"
    # What the client's library raised says more than our own error: no connection is not one that broke.
    cause = error.__cause__ if isinstance(error, ModelError) else None
    return type(cause or error).__name__


class _Call:
    """A request on its way. Its span begins when it is sent first, dated back to when it was asked."""

    def __init__(self, tracing: Tracing, request: ChatRequest, name: str, attributes: Attributes) -> None:
        self._tracing = tracing
        self._place = request.place
        self._name = name
        self._attributes = attributes
        self._asked = time.time_ns()
        self._idle_since = time.monotonic()
        self._waited = 0.0
        self._attempts = 0
        self._paid = Usage()
        self._span: Span | None = None

    @contextmanager
    def attempt(self, *, remote: bool) -> Generator[None]:
        """Send it; its span is current meanwhile, so that those of an instrumented HTTP client stand below it."""
        self._waited += time.monotonic() - self._idle_since
        self._attempts += 1
        tracing = self._tracing
        if self._attempts == 1:
            parent = tracing.parent_of(self._place)
            self._span = tracing.begin(self._name, self._attributes, parent=parent, start=self._asked, remote=remote)
        tracing.note(self._span, "skillopt.attempt", {"skillopt.attempt": self._attempts})
        try:
            with tracing.current(self._span):
                yield
        finally:
            self._idle_since = time.monotonic()

    def pay(self, usage: Usage) -> None:
        """Count what an attempt used."""
        self._paid += usage

    def retry(self, retry: Retry) -> None:
        """Note an attempt that failed and will be followed by another."""
        attributes = {
            "skillopt.attempt": retry.attempt,
            "error.type": error_type(retry.error),
            "skillopt.wait_seconds": retry.wait,
        }
        self._tracing.note(self._span, "skillopt.retry", attributes)

    def end(self, reply: ChatReply | None, *, error: str = "") -> None:
        """End its span, if it was ever sent."""
        attributes: dict[str, str | int | float | tuple[str, ...]] = {
            "gen_ai.response.finish_reasons": ("error" if reply is None else reply.finish_reason,),
            "skillopt.attempts": self._attempts,
            "skillopt.wait_seconds": self._waited,
        }
        if reply is not None and reply.model:
            attributes["gen_ai.response.model"] = reply.model
        if self._paid.calls:
            attributes["gen_ai.usage.input_tokens"] = self._paid.fresh_tokens + self._paid.cached_tokens
            attributes["gen_ai.usage.output_tokens"] = self._paid.output_tokens
        if self._paid.cached_tokens:
            attributes["gen_ai.usage.cache_read.input_tokens"] = self._paid.cached_tokens
        self._tracing.end(self._span, attributes, error=error)


_current: ContextVar[_Call | None] = ContextVar("call", default=None)


def note_retry(retry: Retry) -> None:
    """Note, in the span of the call that is asked right now, an attempt that failed; outside of one do nothing."""
    call = _current.get()
    if call is not None:
        call.retry(retry)


class SpannedModel(ChatModel):
    """A model each of whose calls is a span. It stands around retry and limiter, so that waiting lies within.

    Args:
        model: The model behind it, with a `SentModel` inside.
        tracing: Where spans go.
        role: Target or optimizer.
    """

    def __init__(self, model: ChatModel, tracing: Tracing, *, role: Role) -> None:
        self._model = model
        self._tracing = tracing
        identity = model.identity
        self._name = f"chat {identity.get('model')}"
        self._attributes = {**call_attributes(identity), "skillopt.role": role}
        self._constrains = identity.get("schema_replies") is True

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The identity of the model behind it: being watched changes no reply."""
        return self._model.identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Ask the model."""
        call = _Call(self._tracing, request, self._name, self._of(request))
        token = _current.set(call)
        try:
            reply = await self._model.reply(request)
        except BaseException as error:
            call.end(None, error=error_type(error))
            raise
        finally:
            _current.reset(token)
        call.end(reply)
        return reply

    async def close(self) -> None:
        """Close the model behind it."""
        await self._model.close()

    def _of(self, request: ChatRequest) -> Attributes:
        place = request.place
        placed = {"skillopt.stage": place.stage, "skillopt.epoch": place.epoch, "skillopt.step": place.step}
        output = {"gen_ai.output.type": "json"} if self._constrains and request.schema is not None else {}
        return {**self._attributes, **placed, **output}


class SentModel(ChatModel):
    """The innermost model, where a call leaves: whoever gets here is sent. It belongs into a `SpannedModel`.

    Args:
        model: The bare model.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self._remote = model.identity.get("provider") != "simulated"

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The identity of the model behind it: being watched changes no reply."""
        return self._model.identity

    async def reply(self, request: ChatRequest) -> ChatReply:
        """Ask the model, as one attempt of the call that it belongs to."""
        call = _current.get()
        if call is None:
            return await self._model.reply(request)
        try:
            with call.attempt(remote=self._remote):
                reply = await self._model.reply(request)
        except ModelError as error:
            if error.paid is not None:
                call.pay(Usage(1, *error.paid))
            raise
        call.pay(reply.usage)
        return reply

    async def close(self) -> None:
        """Close the model behind it."""
        await self._model.close()


def call_attributes(identity: Mapping[str, JsonValue]) -> dict[str, str | int | float | tuple[str, ...]]:
    """Return the attributes that all calls of a model have in common, as far as its identity tells them."""
    provider = str(identity.get("provider"))
    attributes: dict[str, str | int | float | tuple[str, ...]] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _PROVIDER_NAMES.get(provider, provider),
        "gen_ai.request.model": str(identity.get("model")),
    }
    for setting, name in _REQUEST_SETTINGS.items():
        value = identity.get(setting)
        if isinstance(value, str | int | float):
            attributes[f"gen_ai.request.{name}"] = value
    address = urlsplit(str(identity.get("base_url") or ""))
    if address.hostname:
        attributes["server.address"] = address.hostname
        attributes["server.port"] = address.port or (443 if address.scheme == "https" else 80)
    return attributes
