"""Vendors' own APIs over real local servers: Anthropic's messages, Azure's deployments, Bedrock's converse."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError, FatalModelError, ModelError, RateLimitError, TransientModelError
from skillopt.models.base import ChatModel, ChatRequest, ReplySchema
from skillopt.models.providers import open_remote_model
from skillopt.types import Message, Place, Usage

KEY = "sk-ant-0123456789abcdefghijklmnop"
ENVIRONMENT = {
    "ANTHROPIC_API_KEY": KEY,
    "AZURE_OPENAI_API_KEY": KEY,
    "GOOGLE_API_KEY": KEY,
    "OPENAI_API_VERSION": "2024-12-01-preview",
    "GOOGLE_CLOUD_PROJECT": "project",
    "AWS_REGION": "us-east-1",
}
CLAUDE = "anthropic:claude-sonnet-5"
REQUEST = ChatRequest((Message("system", "Be brief."), Message("user", "What is 2 + 2?")), Place("rollout"))

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def claude_reply(*blocks: dict[str, Any], stop_reason: str = "end_turn") -> dict[str, Any]:
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-5",
        "content": list(blocks) or [{"type": "text", "text": "4"}],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 10,
            "output_tokens": 5,
            "cache_read_input_tokens": 7,
            "cache_creation_input_tokens": 3,
        },
    }


def answering(status: int, body: Any, **headers: str) -> Handler:
    async def handle(_: web.Request) -> web.Response:
        return web.json_response(body, status=status, headers=headers)

    return handle


@asynccontextmanager
async def model_of(name: str, handler: Handler, **settings: Any) -> AsyncIterator[ChatModel]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    async with TestServer(application) as server:
        base_url = str(server.make_url("/")).rstrip("/")
        # Without a limit of tokens the vendor's library streams, since such a reply may take long.
        role = RoleSettings(**({"name": name, "base_url": base_url, "max_tokens": 99} | settings))
        model = open_remote_model("target", role, ENVIRONMENT)
        try:
            yield model
        finally:
            await model.close()
            await model.close()


async def failure_of(handler: Handler, **settings: Any) -> ModelError:
    async with model_of(CLAUDE, handler, **settings) as model:
        with pytest.raises(ModelError) as caught:
            await model.reply(REQUEST)
    return caught.value


async def test_claude_is_asked_in_its_own_words_and_its_thinking_is_kept_apart():
    bodies: list[dict[str, Any]] = []

    async def handle(request: web.Request) -> web.Response:
        assert request.path == "/v1/messages"
        assert KEY in (request.headers.get("x-api-key", ""), request.headers.get("Authorization", "")[len("Bearer ") :])
        bodies.append(await request.json())
        thinking = {"type": "thinking", "thinking": "2+2", "signature": "s"}
        return web.json_response(claude_reply(thinking, {"type": "text", "text": "4"}))

    history = ChatRequest((*REQUEST.messages, Message("assistant", "5"), Message("user", "Sure?")), REQUEST.place)
    async with model_of(CLAUDE, handle) as model:
        reply = await model.reply(REQUEST)
        await model.reply(history)
    assert (reply.text, reply.reasoning, reply.finish_reason) == ("4", "2+2", "stop")
    assert reply.usage == Usage(calls=1, fresh_tokens=13, cached_tokens=7, output_tokens=5)
    assert reply.model == "claude-sonnet-5"
    assert bodies[0]["model"] == "claude-sonnet-5"
    assert bodies[0]["max_tokens"] == 99
    # The skill is marked for Anthropic's cache, which keeps nothing that it was not told to keep.
    assert bodies[0]["system"][0]["text"] == "Be brief."
    assert "cache_control" in bodies[0]["system"][0]
    assert "cache_control" not in json.dumps(bodies[0]["messages"])
    assert {"temperature", "thinking", "output_config", "tools"}.isdisjoint(bodies[0])
    assert [message["role"] for message in bodies[1]["messages"]] == ["user", "assistant", "user"]


async def test_a_schema_and_thinking_reach_claude():
    """F101: off is said on the wire."""
    bodies: list[dict[str, Any]] = []

    async def handle(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.json_response(claude_reply())

    schema: dict[str, Any] = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    request = ChatRequest(REQUEST.messages, REQUEST.place, ReplySchema("number", schema))
    async with model_of(CLAUDE, handle, thinking=False) as model:
        await model.reply(request)
        assert model.identity["schema_replies"] is True
    async with model_of(CLAUDE, handle, schema_replies=False, extra_body={"service_tier": "auto"}) as model:
        await model.reply(request)
        assert model.identity["schema_replies"] is False
    assert bodies[0]["thinking"] == {"type": "disabled"}
    assert bodies[0]["output_config"]["format"]["schema"]["properties"] == schema["properties"]
    assert "output_config" not in bodies[1]
    assert bodies[1]["service_tier"] == "auto"


@pytest.mark.parametrize(
    ("block", "stop_reason", "text", "finish", "cut"),
    [
        ({"type": "text", "text": "4 and"}, "max_tokens", "4 and", "length", True),
        ({"type": "thinking", "thinking": "I will", "signature": "s"}, "max_tokens", "", "length", True),
        ({"type": "text", "text": "no"}, "refusal", "no", "content_filter", False),
    ],
)
async def test_how_a_reply_of_claude_ended_is_known(
    block: dict[str, Any], stop_reason: str, text: str, finish: str, *, cut: bool
):
    """F49: cut, or reasoning only."""
    async with model_of(CLAUDE, answering(200, claude_reply(block, stop_reason=stop_reason))) as model:
        reply = await model.reply(REQUEST)
    assert (reply.text, reply.finish_reason, reply.cut) == (text, finish, cut)


def refusal(kind: str, message: str = "because X") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413])
async def test_what_anthropic_refuses_for_good_is_fatal(status: int):
    """F2, F4"""
    error = await failure_of(answering(status, refusal("invalid_request_error")))
    assert isinstance(error, FatalModelError)
    assert error.status == status
    assert f"because X (HTTP {status})" in error.message
    if status == 401:
        assert "ANTHROPIC_API_KEY" in error.hint


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 529])
async def test_what_may_pass_at_anthropic_is_transient_and_asked_once(status: int):
    """F4: trying again is left to one place; the vendor's library does not do it too."""
    calls: list[str] = []

    async def handle(request: web.Request) -> web.Response:
        calls.append(request.path)
        return web.json_response(refusal("overloaded_error"), status=status, headers={"Retry-After": "3"})

    error = await failure_of(handle)
    assert isinstance(error, TransientModelError)
    assert len(calls) == 1
    if status == 429:
        assert isinstance(error, RateLimitError)
        assert error.retry_after == 3.0


@pytest.mark.parametrize("trickling", [False, True])
async def test_a_timeout_reaches_the_vendors_socket(*, trickling: bool):
    """F1, More 15: also where the server keeps the connection warm and never comes to an end."""
    dropped = asyncio.Event()

    async def hang(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        try:
            if trickling:
                await response.prepare(request)
            while True:
                await asyncio.sleep(0.02)
                if trickling:
                    await response.write(b" ")
        finally:
            dropped.set()

    async with model_of(CLAUDE, hang, timeout=0.3) as model:
        with pytest.raises(TransientModelError, match=CLAUDE):
            await asyncio.wait_for(model.reply(REQUEST), 20)
        await asyncio.wait_for(dropped.wait(), 5)


@pytest.mark.parametrize("body", ["<html>proxy</html>", '{"type": "message"}', "", '{"cut": '])
async def test_garbage_from_a_vendor_is_a_model_error(body: str):
    """F53"""

    async def handle(_: web.Request) -> web.Response:
        return web.Response(text=body, content_type="application/json")

    error = await failure_of(handle)
    assert isinstance(error, TransientModelError)
    assert error.paid == (0, 0, 0), "it may have been billed"


async def test_a_vendor_that_is_not_there_is_transient(unused_tcp_port: int):
    settings = RoleSettings(name=CLAUDE, base_url=f"http://127.0.0.1:{unused_tcp_port}")
    model = open_remote_model("target", settings, ENVIRONMENT)
    with pytest.raises(TransientModelError, match=CLAUDE):
        await model.reply(REQUEST)
    await model.close()


@pytest.mark.parametrize("status", [400, 401, 429, 500])
async def test_a_key_that_a_vendor_echoes_is_in_no_message(status: int):
    """More 18"""
    error = await failure_of(answering(status, refusal("x", f"bad key {KEY}\x1b[1m")))
    assert KEY not in str(error)
    assert "\x1b" not in str(error)


VENDORS = {
    CLAUDE: {},
    "azure:gpt-5.2": {},
    "google:gemini-2.5-pro": {},
    "google-cloud:gemini-2.5-pro": {"api_key_env": "GOOGLE_API_KEY"},
    "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0": {},
}


@pytest.mark.parametrize("name", VENDORS)
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_no_redirect_of_a_vendor_carries_a_key_to_another_host(
    name: str, status: int, monkeypatch: pytest.MonkeyPatch
):
    """More 18: two real servers; another host and another port, with a user in the address."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY)
    here: list[str] = []
    elsewhere: list[str] = []

    async def steal(request: web.Request) -> web.Response:
        elsewhere.append(str(request.headers))
        return web.json_response(claude_reply())

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", steal)
    async with TestServer(application, host="localhost") as other:
        target = str(other.make_url("/v1/messages")).replace("http://", "http://me:pass@")

        async def redirect(request: web.Request) -> web.Response:
            here.append(str(request.headers))
            return web.Response(status=status, headers={"Location": target})

        async with model_of(name, redirect, **VENDORS[name]) as model:
            with pytest.raises(ModelError) as caught:
                await model.reply(REQUEST)
    assert len(here) == 1
    assert elsewhere == []
    assert KEY not in str(caught.value)
    assert KEY not in "".join(here) or not name.startswith("bedrock")
    if not name.startswith("bedrock"):
        assert isinstance(caught.value, FatalModelError)
        assert "Redirects are not followed" in caught.value.hint


async def test_azure_is_asked_for_a_deployment():
    seen: list[tuple[str, str | None, dict[str, Any]]] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append((request.path_qs, request.headers.get("api-key"), await request.json()))
        choice = {"index": 0, "message": {"role": "assistant", "content": "4"}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
        head = {"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5.2"}
        return web.json_response({**head, "choices": [choice], "usage": usage})

    async with model_of("azure:gpt-5.2", handle, max_tokens=7, reasoning_effort="low") as model:
        reply = await model.reply(REQUEST)
    assert (reply.text, reply.usage) == ("4", Usage(1, 9, 0, 1))
    path, key, body = seen[0]
    assert path == "/openai/deployments/gpt-5.2/chat/completions?api-version=2024-12-01-preview"
    assert key == KEY
    assert (body["max_completion_tokens"], body["reasoning_effort"]) == (7, "low")


async def test_bedrock_is_asked_with_the_credentials_of_the_machine(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATEST")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-machine")

    async def handle(_: web.Request) -> web.Response:
        message = {"role": "assistant", "content": [{"text": "4"}]}
        usage = {"inputTokens": 9, "outputTokens": 1, "totalTokens": 10}
        body = {"output": {"message": message}, "stopReason": "end_turn", "usage": usage, "metrics": {"latencyMs": 1}}
        return web.json_response(body)

    async with model_of("bedrock:amazon.nova-lite-v1:0", handle) as model:
        reply = await model.reply(REQUEST)
    assert (reply.text, reply.usage) == ("4", Usage(1, 9, 0, 1))


async def test_what_a_vendors_library_finds_missing_is_fatal(monkeypatch: pytest.MonkeyPatch):
    """F4: nothing but model errors comes out of a model, whatever library is behind it."""
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(variable, raising=False)
    async with model_of("bedrock:amazon.nova-lite-v1:0", answering(200, {})) as model:
        with pytest.raises(FatalModelError, match=r"bedrock:amazon.*NoCredentialsError"):
            await model.reply(REQUEST)


def test_bedrock_takes_no_extra_body():
    with pytest.raises(ConfigError, match="no extra_body"):
        open_remote_model("target", RoleSettings(name="bedrock:m", extra_body={"a": 1}), ENVIRONMENT)
