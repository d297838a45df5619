"""A streamed answer says the same as one that came whole, and half a stream is no answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import FatalModelError, TransientModelError
from skillopt.models.base import ChatReply
from skillopt.models.event_stream import EVENT_STREAM, join_events
from skillopt.models.failures import Reporter
from skillopt.models.wire import Dialect, fixed_fields, read_reply
from skillopt.types import Usage


def events(*payloads: dict[str, Any], done: bool = True, end: str = "\n\n") -> bytes:
    lines = [f"data: {json.dumps(payload, ensure_ascii=False)}" for payload in payloads]
    return end.join([*lines, *(["data: [DONE]"] if done else []), ""]).encode()


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def completion(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "reasoning_content": "", "refusal": ""}
    return {"message": message, "finish_reason": "stop"}


def read(body: bytes) -> ChatReply:
    return read_reply(body, Reporter("local:m", "http://h/v1"), content_type=f"{EVENT_STREAM}; charset=utf-8")


@given(st.lists(st.text()), st.sampled_from(["\n\n", "\r\n\r\n"]))
def test_pieces_join_to_the_whole_text(pieces: list[str], end: str) -> None:
    """Whatever the text holds, line separators of Unicode too."""
    contents = [delta(content=piece) for piece in pieces]
    body = events(delta(role="assistant", content=None), *contents, delta("stop"), end=end)
    assert join_events(body)["choices"] == [completion("".join(pieces))]


def test_finish_reason_reasoning_and_usage_are_kept() -> None:
    usage = {"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 12}}
    body = events(delta(reasoning_content="hm"), delta(content="4"), delta("length"), {"choices": [], "usage": usage})
    spent = Usage(calls=1, fresh_tokens=8, cached_tokens=12, output_tokens=3)
    assert read(body) == ChatReply("4", "length", "hm", spent)


@pytest.mark.parametrize(
    "body", [b"", events(delta(content="ha"), done=False), events(delta(content="ha")), b'data: {"choices": [{"de']
)
def test_a_stream_that_ends_before_the_reply_is_no_reply(body: bytes) -> None:
    with pytest.raises(TransientModelError, match="no whole reply"):
        read(body)


def test_an_error_within_a_stream_is_an_error() -> None:
    error = {"error": {"code": 400, "message": "the context is full", "type": "invalid_request_error"}}
    with pytest.raises(FatalModelError, match="the context is full"):
        read(events(delta(content="ha"), error))


def test_comments_and_other_fields_of_a_stream_say_nothing() -> None:
    body = b": ping\nevent: message\n" + events(delta("stop", content="4"))
    assert join_events(body)["choices"] == [completion("4")]


def test_events_are_asked_for_only_where_the_dialect_says_so() -> None:
    settings = RoleSettings(name="local:m")
    assert "stream" not in fixed_fields("m", settings, Dialect())
    streamed = fixed_fields("m", settings, Dialect(streams=True))
    assert (streamed["stream"], streamed["stream_options"]) == (True, {"include_usage": True})
