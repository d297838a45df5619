"""The wire form of a chat: what goes to an OpenAI-compatible server, and what is read from its answer.

Pure functions on the hot path: plain dictionaries and checks, no validation library. How the dialects differ stands in
one small table type; sending and waiting is `client`'s part.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError, ModelError
from skillopt.models.base import ChatReply, ChatRequest, ReplySchema
from skillopt.models.event_stream import EVENT_STREAM, join_events
from skillopt.models.failures import (
    Reporter,
    as_mapping,
    first_item,
    paid_for,
    parse_json,
    provider_words,
    status_of,
)
from skillopt.models.token_counts import read_usage
from skillopt.types import JsonValue, Usage

ThinkingStyle: TypeAlias = Literal[
    "none", "chat_template", "enable_thinking", "enabled_type", "adaptive_type", "reasoning", "effort"
]
"""How a server is told to think or not: not at all, by `chat_template_kwargs`, by a field `enable_thinking`, by
`thinking: {type: enabled | disabled}`, by `thinking: {type: adaptive | disabled}`, by a `reasoning` object, or by
`reasoning_effort`."""

_RESERVED = frozenset({"messages", "model", "stream", "n", "response_format"})
_SECRET_NAMES = frozenset({"api_key", "apikey", "api-key", "authorization", "access_token"})

_FINISH_REASONS = {
    "eos": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    "max_length": "length",
    "model_length": "length",
    "safety": "content_filter",
}
_KNOWN_FINISHES = frozenset({"stop", "length", "content_filter", "tool_calls", "function_call", "refusal"})
_BROKEN_FINISHES = frozenset({"error", "insufficient_system_resource", "abort", "aborted"})
_MINIMAX_STATUS = {1002: 429, 1004: 401, 1008: 402, 1039: 429, 2013: 400, 2049: 401}
"""HTTP statuses that MiniMax's own codes amount to; it sends them with status 200."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Where one server's chat API differs from another's.

    Attributes:
        token_field: The field for the most tokens of a reply.
        thinking: How thinking is switched.
        constrains_schema: Whether the server is known to constrain replies to a JSON schema.
        streams: Whether to ask for events: some servers notice only then that nobody waits any longer.
    """

    token_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    thinking: ThinkingStyle = "none"
    constrains_schema: bool = False
    streams: bool = False


def fixed_fields(model: str, settings: RoleSettings, dialect: Dialect) -> dict[str, Any]:
    """Return the fields that all requests of a model have in common; what is unset is not in it.

    Raises:
        ConfigError: If thinking is to be switched where there is no switch, or `extra_body` holds a field that is not
            the user's to set.
    """
    fields: dict[str, Any] = {"model": model}
    if dialect.streams:
        fields |= {"stream": True, "stream_options": {"include_usage": True}}
    if settings.temperature is not None:
        fields["temperature"] = settings.temperature
    if settings.max_tokens is not None:
        fields[dialect.token_field] = settings.max_tokens
    if settings.reasoning_effort is not None:
        if dialect.thinking == "reasoning":
            fields["reasoning"] = {"effort": settings.reasoning_effort}
        else:
            fields["reasoning_effort"] = settings.reasoning_effort
    if settings.thinking is not None:
        _merge(fields, _thinking_fields(dialect.thinking, settings))
    for name in settings.extra_body:
        if name in _RESERVED:
            raise ConfigError(f"extra_body sets {name!r}, which SkillOpt sets itself", hint="Remove it.")
        if name.lower() in _SECRET_NAMES:
            raise ConfigError(
                f"extra_body sets {name!r}; a key must not stand in a configuration",
                hint="Put it into an environment variable and name that in `api_key_env`.",
            )
    _merge(fields, settings.extra_body)
    return fields


def model_identity(
    provider: str, model: str, address: str, *, settings: RoleSettings, constrain: bool
) -> dict[str, JsonValue]:
    """Return all that determines a model's replies besides the request; settings that are unset stand as None.

    How long, how often and how many at once a model is asked, and what it costs, changes no reply and is not in it.
    """
    return {
        "provider": provider,
        "model": model,
        "base_url": address,
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
        "reasoning_effort": settings.reasoning_effort,
        "thinking": settings.thinking,
        "schema_replies": constrain,
        "extra_body": dict(settings.extra_body),
    }


def _thinking_fields(style: ThinkingStyle, settings: RoleSettings) -> dict[str, Any]:
    on = settings.thinking is True
    match style:
        case "chat_template":
            return {"chat_template_kwargs": {"enable_thinking": on}}
        case "enable_thinking":
            return {"enable_thinking": on}
        case "enabled_type":
            return {"thinking": {"type": "enabled" if on else "disabled"}}
        case "adaptive_type":
            return {"thinking": {"type": "adaptive" if on else "disabled"}}
        case "reasoning":
            return {"reasoning": {"enabled": on}}
        case "effort":
            return {"reasoning_effort": (settings.reasoning_effort or "medium") if on else "none"}
        case "none":
            raise ConfigError(
                f"thinking is {str(on).lower()}, but {settings.name} has no such switch",
                hint="Use `reasoning_effort` (`none` switches it off where the model allows), or the server's own "
                "field in `extra_body`.",
            )


def _merge(fields: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        mine = fields.get(name)
        if isinstance(mine, dict) and isinstance(value, dict):
            joined: dict[str, Any] = dict(cast("dict[str, Any]", mine))
            _merge(joined, cast("dict[str, Any]", value))
            fields[name] = joined
        else:
            fields[name] = value


def request_body(request: ChatRequest, fixed: Mapping[str, Any], *, constrain: bool) -> bytes:
    """Return the JSON body of a request, in ASCII, so that no text can fail to be encoded.

    Args:
        request: What is asked.
        fixed: The model's `fixed_fields`.
        constrain: Whether the server is asked to hold the reply to the request's schema.
    """
    # A plain conversation has no call ids, which the wire wants with role `tool`; a tool's words go as the user's.
    messages = [
        {"role": "user" if message.role == "tool" else message.role, "content": message.content}
        for message in request.messages
    ]
    body = {**fixed, "messages": messages}
    if constrain and request.schema is not None:
        body["response_format"] = _response_format(request.schema)
    return json.dumps(body).encode("ascii")


def _response_format(schema: ReplySchema) -> dict[str, Any]:
    form: dict[str, Any] = {"name": schema.name, "schema": dict(schema.schema)}
    if _is_strict(dict(schema.schema)):
        form["strict"] = True
    return {"type": "json_schema", "json_schema": form}


def _is_strict(schema: JsonValue) -> bool:
    """Whether every object in a schema is closed and requires all it has, as OpenAI's strict mode demands."""
    if isinstance(schema, list):
        return all(_is_strict(part) for part in schema)
    if not isinstance(schema, dict):
        return True
    properties = schema.get("properties")
    if isinstance(properties, dict):
        required = schema.get("required")
        names = cast("list[str]", required) if isinstance(required, list) else []
        if schema.get("additionalProperties") is not False or set(names) != set(properties):
            return False
        return all(_is_strict(part) for part in (*properties.values(), schema.get("$defs")))
    if schema.get("type") == "object":
        return False
    return all(_is_strict(part) for part in schema.values())


def read_reply(body: bytes, reporter: Reporter, *, content_type: str = "") -> ChatReply:
    """Read the answer of a server that said it went well.

    Raises:
        TransientModelError: If the body is no chat completion, or says that the generation broke off.
        FatalModelError: If it holds an error that another attempt cannot mend.
            Either says what may have been paid for it all the same (`ModelError.paid`).
    """
    payload = join_events(body) if content_type.startswith(EVENT_STREAM) else parse_json(body)
    usage = read_usage(as_mapping(as_mapping(payload).get("usage")))
    try:
        return _whole_reply(body, payload, usage, reporter, content_type=content_type)
    except ModelError as error:
        paid_for(error, usage)
        raise


def _whole_reply(body: bytes, payload: object, usage: Usage, reporter: Reporter, *, content_type: str) -> ChatReply:
    if payload is None:
        excerpt = reporter.quote(body.decode("utf-8", "replace")) or "nothing"
        raise reporter.transient(
            f"expected JSON, got {reporter.quote(content_type) or 'no content type'}: {excerpt}",
            hint=f"Is {reporter.address} an OpenAI-compatible API? Its address usually ends in /v1.",
        )
    outer = as_mapping(payload)
    _raise_error_inside(outer, reporter)
    choice = as_mapping(first_item(outer.get("choices")))
    _raise_error_inside(choice, reporter)
    said = choice.get("finish_reason")
    finish = said.lower() if isinstance(said, str) and said else "stop"
    message = as_mapping(choice.get("message"))
    if not message or finish in _BROKEN_FINISHES:
        excerpt = reporter.quote(body.decode("utf-8", "replace"))
        raise reporter.transient(f"the answer holds no whole reply: {excerpt}")
    text, reasoning = _split_message(message)
    finish = _FINISH_REASONS.get(finish, finish)
    refusal = message.get("refusal")
    if not text and isinstance(refusal, str) and refusal:
        text, finish = refusal, "refusal"
    if finish not in _KNOWN_FINISHES:
        finish = reporter.quote(finish)
    text, reasoning = reporter.without_secrets(text), reporter.without_secrets(reasoning)
    return ChatReply(text, finish, reasoning, usage, model=reporter.name(outer.get("model")))


def _raise_error_inside(part: Mapping[str, object], reporter: Reporter) -> None:
    """Raise the error that some providers wrap into a successful answer; an error is never an answer."""
    if part.get("error"):
        words, code = provider_words(part)
        origin = reporter.quote(f"error {code}, sent with HTTP 200" if code else "an error sent with HTTP 200")
        raise reporter.refusal(status_of(code), words, code=code, origin=origin)
    state = as_mapping(part.get("base_resp"))
    number = state.get("status_code")
    if isinstance(number, int) and number != 0:
        status = _MINIMAX_STATUS.get(number, 500)
        raise reporter.refusal(status, str(state.get("status_msg") or ""), origin=f"error {number}, sent with HTTP 200")


def _split_message(message: Mapping[str, object]) -> tuple[str, str]:
    """Return a message's answer and its reasoning, whichever of the usual ways keeps them apart."""
    text, reasoning = _join_parts(message.get("content"))
    for name in ("reasoning_content", "reasoning"):
        kept_apart = message.get(name)
        if isinstance(kept_apart, str) and kept_apart:
            return _split_think(text)[0], kept_apart
    answer, thought = _split_think(text)
    return answer, reasoning or thought


def _join_parts(content: object) -> tuple[str, str]:
    if isinstance(content, str):
        return content, ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in cast("list[object]", content) if isinstance(content, list) else []:
        if isinstance(part, str):
            texts.append(part)
            continue
        fields = as_mapping(part)
        if fields.get("type") == "thinking":
            thinking = fields.get("thinking")
            thoughts.append(thinking if isinstance(thinking, str) else _join_parts(thinking)[0])
        elif isinstance(fields.get("text"), str):
            texts.append(cast("str", fields["text"]))
    return "".join(texts), "".join(thoughts)


def _split_think(text: str) -> tuple[str, str]:
    """Take a leading `<think>` block off. One that never closes is reasoning to the end: there is no answer."""
    opened = text.lstrip()
    if opened.startswith("<think>"):
        thought, _, answer = opened.removeprefix("<think>").partition("</think>")
        return answer.lstrip(), thought.strip()
    # Templates that open the block in the prompt leave only its end in the reply.
    thought, end, answer = text.partition("</think>")
    if end and "<think>" not in thought:
        return answer.lstrip(), thought.strip()
    return text, ""
