"""Request bodies and replies as values: every dialect's fields, every form an answer takes."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError, ModelError
from skillopt.models.base import ChatReply, ChatRequest, ReplySchema
from skillopt.models.failures import Reporter
from skillopt.models.wire import Dialect, fixed_fields, model_identity, read_reply, request_body
from skillopt.types import Message, Place, Usage

REPORTER = Reporter("openai:m", "http://h/v1")


def fields(dialect: Dialect, **settings: Any) -> dict[str, Any]:
    return fixed_fields("m", RoleSettings(name="openai:m", **settings), dialect)


def read(message: dict[str, Any], finish: str | None = "stop", **outer: Any) -> ChatReply:
    body = {"choices": [{"message": message, "finish_reason": finish}], **outer}
    return read_reply(json.dumps(body).encode(), REPORTER)


def test_nothing_that_is_unset_is_sent():
    """F1: no vendor's field is on the wire unless it was asked for."""
    assert fields(Dialect(thinking="chat_template")) == {"model": "m"}


def test_what_is_set_is_sent_under_the_dialects_names():
    assert fields(Dialect("max_completion_tokens"), temperature=0.0, max_tokens=9, reasoning_effort="low") == {
        "model": "m",
        "temperature": 0.0,
        "max_completion_tokens": 9,
        "reasoning_effort": "low",
    }
    assert fields(Dialect(), max_tokens=9) == {"model": "m", "max_tokens": 9}


@pytest.mark.parametrize(
    ("style", "off", "on"),
    [
        (
            "chat_template",
            {"chat_template_kwargs": {"enable_thinking": False}},
            {"chat_template_kwargs": {"enable_thinking": True}},
        ),
        ("enable_thinking", {"enable_thinking": False}, {"enable_thinking": True}),
        ("enabled_type", {"thinking": {"type": "disabled"}}, {"thinking": {"type": "enabled"}}),
        ("adaptive_type", {"thinking": {"type": "disabled"}}, {"thinking": {"type": "adaptive"}}),
        ("reasoning", {"reasoning": {"enabled": False}}, {"reasoning": {"enabled": True}}),
        ("effort", {"reasoning_effort": "none"}, {"reasoning_effort": "medium"}),
    ],
)
def test_thinking_off_is_said_and_unset_says_nothing(style: Any, off: dict[str, Any], on: dict[str, Any]):
    """F101: unset, on and off are three things on the wire, and all three stand in the identity."""
    dialect = Dialect(thinking=style)
    assert fields(dialect, thinking=False) == {"model": "m", **off}
    assert fields(dialect, thinking=True) == {"model": "m", **on}
    assert fields(dialect) == {"model": "m"}
    identities = [
        model_identity("p", "m", "a", settings=RoleSettings(name="p:m", thinking=value), constrain=False)["thinking"]
        for value in (None, True, False)
    ]
    assert identities == [None, True, False]


def test_thinking_where_there_is_no_switch_is_an_error_and_not_ignored():
    """F101"""
    for wanted in (True, False):
        with pytest.raises(ConfigError, match="openai:m has no such switch"):
            fields(Dialect(), thinking=wanted)


def test_effort_and_thinking_share_the_reasoning_object():
    sent = fields(Dialect(thinking="reasoning"), thinking=True, reasoning_effort="high")
    assert sent == {"model": "m", "reasoning": {"effort": "high", "enabled": True}}


def test_extra_fields_are_sent_as_they_are_and_join_objects():
    extra = {"top_k": 5, "chat_template_kwargs": {"style": "short"}}
    sent = fields(Dialect(thinking="chat_template"), thinking=False, extra_body=extra)
    assert sent == {"model": "m", "top_k": 5, "chat_template_kwargs": {"enable_thinking": False, "style": "short"}}
    assert extra == {"top_k": 5, "chat_template_kwargs": {"style": "short"}}


@pytest.mark.parametrize("name", ["messages", "model", "stream", "api_key", "Authorization"])
def test_extra_fields_that_are_not_the_users_are_refused(name: str):
    """More 18: a key in the configuration is refused before it is written anywhere."""
    with pytest.raises(ConfigError, match=name) as caught:
        fields(Dialect(), extra_body={name: "hidden-value"})
    assert "hidden-value" not in str(caught.value)


@given(st.text(), st.text())
def test_any_text_can_be_sent(skill: str, task: str):
    request = ChatRequest((Message("system", skill), Message("user", task + "\ud800")), Place("rollout"))
    body = json.loads(request_body(request, {"model": "m"}, constrain=False))
    assert [message["content"] for message in body["messages"]] == [skill, task + "\ud800"]


def test_a_tools_words_go_as_the_users():
    request = ChatRequest((Message("tool", "42"),), Place("rollout"))
    assert json.loads(request_body(request, {}, constrain=False))["messages"] == [{"role": "user", "content": "42"}]


CLOSED: dict[str, Any] = {
    "type": "object",
    "properties": {"n": {"anyOf": [{"type": "integer"}, {"type": "null"}]}},
    "required": ["n"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    ("schema", "strict"),
    [
        (CLOSED, True),
        ({**CLOSED, "properties": {"n": {"$ref": "#/$defs/part"}}, "$defs": {"part": CLOSED}}, True),
        ({**CLOSED, "properties": {"n": {"$ref": "#/$defs/part"}}, "$defs": {"part": {"type": "object"}}}, False),
        ({**CLOSED, "properties": {"n": {"type": "array", "items": {"type": "object", "properties": {}}}}}, False),
        ({**CLOSED, "required": []}, False),
        ({key: value for key, value in CLOSED.items() if key != "additionalProperties"}, False),
        ({"type": "object"}, False),
    ],
)
def test_strict_is_asked_for_only_where_a_strict_server_takes_the_schema(schema: dict[str, Any], *, strict: bool):
    request = ChatRequest((Message("user", "?"),), Place("reflect"), ReplySchema("edits", schema))
    form = json.loads(request_body(request, {}, constrain=True))["response_format"]
    assert form["json_schema"]["schema"] == schema
    assert form["json_schema"].get("strict", False) == strict
    assert "response_format" not in json.loads(request_body(request, {}, constrain=False))


@pytest.mark.parametrize(
    ("message", "text", "reasoning"),
    [
        ({"content": "4"}, "4", ""),
        ({"content": None}, "", ""),
        ({"content": None, "reasoning_content": "hm"}, "", "hm"),
        ({"content": "4", "reasoning_content": "2+2"}, "4", "2+2"),
        ({"content": "4", "reasoning": "2+2"}, "4", "2+2"),
        ({"content": "<think>2+2</think>\n\n4"}, "4", "2+2"),
        ({"content": "\n<think>\n2+2\n</think>4\n"}, "4\n", "2+2"),
        ({"content": "<think>\n\n</think>\n\n4"}, "4", ""),
        ({"content": "2+2\n</think>\n4"}, "4", "2+2"),
        ({"content": "<think>I will now"}, "", "I will now"),
        ({"content": "<think>"}, "", ""),
        ({"content": "Use <think> and </think>."}, "Use <think> and </think>.", ""),
        ({"content": [{"type": "text", "text": "4"}, {"type": "text", "text": "!"}]}, "4!", ""),
        ({"content": ["4", 5, None, {"type": "image_url"}]}, "4", ""),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "2+2"}]},
                    {"type": "text", "text": "4"},
                ]
            },
            "4",
            "2+2",
        ),
        ({"content": 4}, "", ""),
    ],
)
def test_reasoning_is_kept_apart_from_the_answer(message: dict[str, Any], text: str, reasoning: str):
    """F49: an unclosed block of reasoning is no answer."""
    reply = read({"role": "assistant", **message})
    assert (reply.text, reply.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    ("said", "finish", "cut"),
    [
        ("stop", "stop", False),
        ("length", "length", True),
        ("MAX_TOKENS", "length", True),
        ("model_length", "length", True),
        ("end_turn", "stop", False),
        ("safety", "content_filter", False),
        ("tool_calls", "tool_calls", False),
        (None, "stop", False),
    ],
)
def test_finish_reasons_mean_the_same_whoever_says_them(said: str | None, finish: str, *, cut: bool):
    """F49: a cut reply is known as one."""
    reply = read({"content": "4"}, said)
    assert (reply.finish_reason, reply.cut) == (finish, cut)


def test_a_refusal_is_the_text_and_says_that_it_is_one():
    reply = read({"content": None, "refusal": "I will not."})
    assert (reply.text, reply.finish_reason) == ("I will not.", "refusal")


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 10, "completion_tokens": 2}, Usage(1, 10, 0, 2)),
        (
            {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 8}},
            Usage(1, 2, 8, 2),
        ),
        ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": None}, Usage(1, 10, 0, 2)),
        ({"prompt_tokens": 10, "completion_tokens": 2, "prompt_cache_hit_tokens": 4}, Usage(1, 6, 4, 2)),
        ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 9}}, Usage(1, 0, 3, 0)),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 2,
                "total_tokens": 42,
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            Usage(1, 10, 0, 32),
        ),
        (
            {
                "prompt_tokens": 10,
                "completion_tokens": 32,
                "total_tokens": 42,
                "completion_tokens_details": {"reasoning_tokens": 30},
            },
            Usage(1, 10, 0, 32),
        ),
        ({"prompt_tokens": "many", "completion_tokens": -1}, Usage(1)),
        (None, Usage(1)),
        ([], Usage(1)),
    ],
)
def test_usage_is_what_the_server_counted_and_zero_where_it_did_not(usage: object, expected: Usage):
    assert read({"content": "4"}, usage=usage).usage == expected


@pytest.mark.parametrize(
    ("said", "wanted"),
    [("gpt-5.5-2026-08-01", "gpt-5.5-2026-08-01"), ("a\n\x1b[31mb", "a [31mb"), (None, ""), (7, ""), ("x" * 301, "")],
)
def test_the_model_that_answered_is_what_the_server_says_fit_to_be_shown(said: object, wanted: str):
    assert read({"content": "yes"}, model=said).model == wanted


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "message", "content", "error", "usage", "finish_reason", "text", "base_resp", "code"]
            ),
            inner,
        )
    ),
    max_leaves=12,
)


@given(JSON | st.builds(lambda choice: {"choices": [choice]}, JSON))
def test_whatever_a_server_answers_there_is_a_reply_or_a_model_error(payload: object):
    """F53: no form of an answer breaks the reading."""
    try:
        reply = read_reply(json.dumps(payload).encode(), REPORTER)
    except ModelError as error:
        assert str(error).startswith("openai:m: ")
    else:
        assert isinstance(reply.text, str)


@given(st.binary())
def test_whatever_bytes_a_server_sends_are_no_crash(body: bytes):
    with pytest.raises(ModelError):
        read_reply(body, REPORTER)
