"""The lean client against real local servers: what goes out, what comes back, and every way it can go wrong."""

import asyncio
import json
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from skillopt.config.model_settings import RoleSettings
from skillopt.errors import ConfigError, FatalModelError, ModelError, RateLimitError, TransientModelError
from skillopt.models.base import ChatRequest, ReplySchema
from skillopt.models.client import MOST_ANSWER_BYTES, CompatibleClient
from skillopt.models.wire import Dialect
from skillopt.skill.size import estimate_tokens
from skillopt.types import Message, Place, Usage

KEY = "sk-test-0123456789abcdefghijklmnopqrstuv"
REQUEST = ChatRequest((Message("system", "Be brief."), Message("user", "What is 2 + 2?")), Place("rollout"))

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def completion(text: str | None = "4", **message: Any) -> dict[str, Any]:
    return {
        "choices": [{"message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 20, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 12}},
    }


def answering(status: int = 200, body: Any = None, **headers: str) -> Handler:
    async def handle(_: web.Request) -> web.Response:
        text = body if isinstance(body, str) else json.dumps(completion() if body is None else body)
        return web.Response(status=status, text=text, content_type="application/json", headers=headers)

    return handle


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", handler)
    async with TestServer(application) as server:
        yield str(server.make_url("/v1"))


@asynccontextmanager
async def client_of(
    base_url: str, *, dialect: Dialect | None = None, **settings: Any
) -> AsyncIterator[CompatibleClient]:
    role = RoleSettings(name="compatible:small", **settings)
    client = CompatibleClient(
        "compatible", "small", base_url=base_url, settings=role, dialect=dialect, key=KEY, key_variable="TEST_KEY"
    )
    try:
        yield client
    finally:
        await client.close()


async def failure_of(handler: Handler, **settings: Any) -> ModelError:
    async with serving(handler) as url, client_of(url, **settings) as client:
        with pytest.raises(ModelError) as caught:
            await client.reply(REQUEST)
    return caught.value


async def test_request_reaches_the_server_and_the_reply_comes_back():
    seen: list[tuple[str, str, dict[str, Any]]] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append((request.path, request.headers["Authorization"], await request.json()))
        return web.json_response(completion("4"))

    schema = ReplySchema("number", {"type": "object", "properties": {"n": {"type": "integer"}}})
    async with serving(handle) as url, client_of(url, dialect=Dialect(constrains_schema=True)) as client:
        reply = await client.reply(REQUEST)
        await client.reply(ChatRequest(REQUEST.messages, REQUEST.place, schema))

    assert (reply.text, reply.finish_reason, reply.cut) == ("4", "stop", False)
    assert reply.usage == Usage(calls=1, fresh_tokens=8, cached_tokens=12, output_tokens=3)
    path, authorization, body = seen[0]
    assert (path, authorization) == ("/v1/chat/completions", f"Bearer {KEY}")
    assert body == {
        "model": "small",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What is 2 + 2?"}],
    }
    assert seen[1][2]["response_format"]["json_schema"]["name"] == "number"


async def test_settings_override_what_the_dialect_does_with_schemas():
    bodies: list[dict[str, Any]] = []

    async def handle(request: web.Request) -> web.Response:
        bodies.append(await request.json())
        return web.json_response(completion())

    request = ChatRequest(REQUEST.messages, REQUEST.place, ReplySchema("any", {"type": "object"}))
    async with serving(handle) as url:
        for capable, wanted in ((True, False), (False, True), (False, None)):
            async with client_of(url, dialect=Dialect(constrains_schema=capable), schema_replies=wanted) as client:
                await client.reply(request)
    assert ["response_format" in body for body in bodies] == [False, True, False]


async def test_timeout_of_the_settings_reaches_the_socket_and_cancels_the_work():
    """F1, More 15: the server sees the call dropped; nothing goes on behind a timeout."""
    dropped = asyncio.Event()

    async def hang(_: web.Request) -> web.Response:
        try:
            await asyncio.Event().wait()
        finally:
            dropped.set()
        raise AssertionError

    async with serving(hang) as url, client_of(url, timeout=0.05) as client:
        with pytest.raises(TransientModelError, match=r"no answer within 0\.05 s"):
            await client.reply(REQUEST)
        await asyncio.wait_for(dropped.wait(), 5)


async def test_timeout_covers_a_body_that_trickles():
    """F1: a server that starts to answer and never ends is cut off too."""

    async def trickle(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"{")
        await asyncio.sleep(30)
        return response

    async with serving(trickle) as url, client_of(url, timeout=0.05) as client:
        with pytest.raises(TransientModelError, match="no answer within"):
            await client.reply(REQUEST)


async def test_cancelling_a_call_drops_it_at_the_server():
    started, dropped = asyncio.Event(), asyncio.Event()

    async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        started.set()
        while await reader.read(65536):
            pass
        dropped.set()
        writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, client_of(f"http://127.0.0.1:{port}/v1") as client:
        call = asyncio.create_task(client.reply(REQUEST))
        await started.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.wait_for(dropped.wait(), 5)


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
async def test_statuses_that_may_pass_are_transient(status: int):
    error = await failure_of(answering(status, {"error": {"message": "try later"}}))
    assert isinstance(error, TransientModelError)
    assert isinstance(error, RateLimitError) == (status == 429)
    assert error.status == status
    assert "compatible:small: try later" in str(error)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422, 451])
async def test_statuses_that_will_not_pass_are_fatal_with_the_providers_words(status: int):
    """F2, F3, F4: a bad key or an unknown model is an error that says so, never an answer."""
    error = await failure_of(answering(status, {"error": {"message": "no, because X"}}))
    assert isinstance(error, FatalModelError)
    assert error.status == status
    assert "no, because X" in error.message


async def test_a_refused_key_names_the_variable_that_held_it():
    error = await failure_of(answering(401, {"error": {"message": "bad key"}}))
    assert "TEST_KEY" in error.hint
    assert "http://127.0.0.1" in (await failure_of(answering(404, {"detail": "Not Found"}))).hint


async def test_an_empty_account_is_fatal_although_it_comes_as_429():
    error = await failure_of(answering(429, {"error": {"message": "quota", "code": "insufficient_quota"}}))
    assert isinstance(error, FatalModelError)


async def test_a_wait_that_the_server_asks_for_is_kept():
    error = await failure_of(answering(429, {"error": "slow down"}, **{"Retry-After": "7"}))
    assert isinstance(error, RateLimitError)
    assert error.retry_after == 7.0
    overloaded = await failure_of(answering(503, "busy", **{"Retry-After": "2.5"}))
    assert isinstance(overloaded, RateLimitError)
    assert (overloaded.retry_after, overloaded.status) == (2.5, 503)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "<html><body>Welcome to the proxy</body></html>",
        '{"choices": [{"message": {"content": "cut off he',
        "data: {}\n\ndata: [DONE]",
        "null",
        "[]",
        "[" * 100_000,
        "{}",
        '{"choices": []}',
        '{"choices": null}',
        '{"choices": [null]}',
        '{"choices": [{"message": null, "finish_reason": ["odd"]}]}',
        '{"choices": [{"message": {"content": "half"}, "finish_reason": "error"}]}',
        '{"error": {"message": "upstream fell over"}}',
        '{"error": {"message": "upstream fell over", "code": 502}}',
        '{"choices": [{"error": {"message": "upstream fell over", "code": 502}}]}',
        '{"choices": null, "base_resp": {"status_code": 1002, "status_msg": "rate limit"}}',
    ],
)
async def test_a_success_without_a_reply_is_a_transient_error(body: str):
    """F3, F53: known error shapes and garbage are errors, never answers, whatever the status says."""
    error = await failure_of(answering(200, body))
    assert isinstance(error, TransientModelError)
    assert error.paid == (0, 0, 0), "it may have been billed"
    assert len(str(error)) < 700


USED = {"prompt_tokens": 10, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}}


@pytest.mark.parametrize(
    "body",
    [
        json.dumps({"choices": [], "usage": USED}),
        json.dumps({"choices": [{"message": {"content": "half"}, "finish_reason": "error"}], "usage": USED}),
        json.dumps({"error": {"message": "upstream fell over"}, "usage": USED}),
        json.dumps({"error": {"message": "no such key", "code": 401}, "usage": USED}),
    ],
)
async def test_an_error_of_an_answer_that_names_its_tokens_tells_what_was_paid(body: str):
    assert (await failure_of(answering(200, body))).paid == (6, 4, 3)


@pytest.mark.parametrize("status", [302, 401, 429, 500])
async def test_what_is_refused_costs_nothing(status: int):
    assert (await failure_of(answering(status, {"error": {"message": "no"}, "usage": USED}))).paid is None


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "no such key", "code": 401}},
        {"error": {"message": "no such key", "code": "invalid_api_key"}},
        {"base_resp": {"status_code": 1004, "status_msg": "login fail"}},
        {"error": {"message": "no credit", "type": "insufficient_quota"}},
    ],
)
async def test_a_fatal_error_sent_as_a_success_is_fatal(body: dict[str, Any]):
    """F3: `not logged in` with status 200 stops the run at once."""
    assert isinstance(await failure_of(answering(200, body)), FatalModelError)


async def test_a_server_that_is_no_api_is_named_with_its_content_type():
    async def page(_: web.Request) -> web.Response:
        return web.Response(text="<h1>It works!</h1>", content_type="text/html")

    error = await failure_of(page)
    assert "text/html" in error.message
    assert "It works!" in error.message
    assert "/v1" in error.hint


async def test_a_reply_under_a_wrong_content_type_is_still_a_reply():
    async def mislabelled(_: web.Request) -> web.Response:
        return web.Response(text=json.dumps(completion("4")), content_type="text/plain")

    async with serving(mislabelled) as url, client_of(url) as client:
        assert (await client.reply(REQUEST)).text == "4"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
        b"220 mail.example.org ESMTP\r\n",
    ],
)
async def test_a_connection_that_breaks_is_transient(answer: bytes):
    async def break_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(break_off, "127.0.0.1", 0)
    async with server, client_of(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1") as client:
        with pytest.raises(TransientModelError, match=r"compatible:small: the connection broke"):
            await client.reply(REQUEST)


async def test_a_reset_is_transient():
    async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.transport.abort()

    server = await asyncio.start_server(reset, "127.0.0.1", 0)
    async with server, client_of(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1") as client:
        with pytest.raises(TransientModelError):
            await client.reply(REQUEST)


async def test_a_server_that_is_not_running_is_transient_and_says_what_to_look_at(unused_tcp_port: int):
    async with client_of(f"http://127.0.0.1:{unused_tcp_port}/v1") as client:
        with pytest.raises(
            TransientModelError, match=f"cannot connect to http://127.0.0.1:{unused_tcp_port}"
        ) as caught:
            await client.reply(REQUEST)
    assert "Is the server running" in caught.value.hint
    assert caught.value.message == (
        f"compatible:small: cannot connect to http://127.0.0.1:{unused_tcp_port}/v1: Connection refused"
    )


async def test_why_a_server_with_two_addresses_is_not_reached_is_said_once(unused_tcp_port: int):
    async with client_of(f"http://localhost:{unused_tcp_port}/v1") as client:
        with pytest.raises(TransientModelError) as caught:
            await client.reply(REQUEST)
    assert caught.value.message.endswith("/v1: Connection refused")
    assert caught.value.message.count("onnect") == 2


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_refused_and_the_key_goes_nowhere_else(status: int):
    """More 18: the key is for the configured host alone."""
    elsewhere: list[web.Request] = []

    async def steal(request: web.Request) -> web.Response:
        elsewhere.append(request)
        return web.json_response(completion("stolen"))

    async with serving(steal) as other:
        error = await failure_of(answering(status, "moved", Location=f"{other}/chat/completions"))
    assert isinstance(error, FatalModelError)
    assert "redirects" in error.message
    assert elsewhere == []


@pytest.mark.parametrize("status", [200, 400, 401, 429, 500])
@pytest.mark.parametrize("where", ["message", "body"])
async def test_a_key_that_the_server_echoes_is_in_no_message(status: int, where: str):
    """More 18: no key in any error, however it is built."""
    echo = f"Incorrect key provided: {KEY}\x1b[31m\u202e, masked sk-test-****stuv"
    error = await failure_of(answering(status, {"error": {"message": echo}} if where == "message" else echo))
    told = f"{error} {error!r} {error.__cause__!r}"
    assert KEY not in told
    assert "sk-test-" not in told
    assert "\x1b" not in told
    assert "\u202e" not in told


async def test_nothing_about_a_client_shows_a_secret():
    """More 18: neither repr nor identity nor the errors of an address with a password."""
    settings = RoleSettings(name="compatible:small", timeout=5)
    address = "http://user:hidden-password@127.0.0.1:9/v1?token=hidden-token"
    client = CompatibleClient("compatible", "small", base_url=address, settings=settings)
    with pytest.raises(TransientModelError) as caught:
        await client.reply(REQUEST)
    await client.close()
    keyed = CompatibleClient("compatible", "small", base_url="http://h/v1", settings=settings, key=KEY)
    told = f"{client!r} {client.identity} {caught.value} {keyed!r} {keyed.identity} {keyed._reporter!r}"
    assert "hidden" not in told
    assert KEY not in told
    assert client.identity["base_url"] == "http://127.0.0.1:9/v1"


async def test_an_address_with_a_password_and_a_query_reaches_the_server_with_both():
    seen: list[web.Request] = []

    async def handle(request: web.Request) -> web.Response:
        seen.append(request)
        return web.json_response(completion())

    async with serving(handle) as url:
        address = url.replace("http://", "http://me:pass@") + "/?api-version=2"
        client = CompatibleClient("compatible", "m", base_url=address, settings=RoleSettings(name="compatible:m"))
        await client.reply(REQUEST)
        await client.close()
    assert seen[0].path_qs == "/v1/chat/completions?api-version=2"
    assert seen[0].headers["Authorization"] == "Basic bWU6cGFzcw=="


def test_identity_holds_what_shapes_a_reply_and_nothing_else():
    def identity(**settings: Any) -> dict[str, Any]:
        role = RoleSettings(name="compatible:small", **settings)
        return dict(CompatibleClient("compatible", "small", base_url="http://h/v1", settings=role).identity)

    assert identity() == identity(timeout=1.0, attempts=9, concurrency=2, api_key_env="X")
    assert identity() != identity(temperature=0.0)
    assert identity() != identity(extra_body={"top_k": 1})
    assert identity() != identity(schema_replies=True)
    named = CompatibleClient(
        "local", "m", base_url="http://127.0.0.1:5/v1", settings=RoleSettings(name="local:m"), address="sha256:1"
    )
    assert named.identity["base_url"] == "sha256:1"


@pytest.mark.parametrize("address", ["", "localhost:8000/v1", "ftp://h/v1", "http://", "http://[::1/v1"])
def test_an_address_that_is_none_is_a_configuration_error(address: str):
    with pytest.raises(ConfigError, match="base_url of compatible is no http"):
        CompatibleClient("compatible", "m", base_url=address, settings=RoleSettings(name="compatible:m"))


def test_a_key_that_cannot_be_one_is_refused_without_being_shown():
    for key in ("sk-secret\nX-Evil: 1", "sk secret", "sk-sécret"):
        with pytest.raises(ConfigError, match="in TEST_KEY holds") as caught:
            CompatibleClient(
                "compatible",
                "m",
                base_url="http://h/v1",
                settings=RoleSettings(name="compatible:m"),
                key=key,
                key_variable="TEST_KEY",
            )
        assert "cret" not in str(caught.value)


async def test_closing_twice_is_safe_and_a_client_that_was_never_asked_closes():
    async with serving(answering()) as url, client_of(url) as client:
        await client.close()
        await client.reply(REQUEST)
        await client.close()
        await client.close()


async def test_a_proxy_of_the_system_is_used_and_loopback_is_not_sent_through_it(monkeypatch: pytest.MonkeyPatch):
    seen: list[tuple[str, str | None]] = []

    async def proxy(request: web.Request) -> web.Response:
        seen.append((request.raw_path, request.headers.get("Proxy-Authorization")))
        return web.json_response(completion())

    async with serving(proxy) as url:
        monkeypatch.setenv("http_proxy", url.removesuffix("/v1").replace("http://", "http://me:pass@"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with client_of("http://models.example/v1") as client:
            await client.reply(REQUEST)
        async with client_of(url) as client:
            await client.reply(REQUEST)
    assert seen == [("http://models.example/v1/chat/completions", "Basic bWU6cGFzcw=="), ("/v1/chat/completions", None)]


@pytest.mark.parametrize("proxy", ["http://me:hunter2@[bad", "socks5://me:hunter2@proxy:1080", "http://me:hunter2@:80"])
def test_a_proxy_that_is_none_is_an_error_that_does_not_show_its_password(proxy: str, monkeypatch: pytest.MonkeyPatch):
    """More 18"""
    monkeypatch.setenv("https_proxy", proxy)
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    with pytest.raises(ConfigError, match="proxy for https:// addresses") as caught:
        CompatibleClient("openai", "m", base_url="https://models.example/v1", settings=RoleSettings(name="openai:m"))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("status", [407, 200, 502])
async def test_a_proxy_that_echoes_its_password_gives_it_to_nobody(status: int, monkeypatch: pytest.MonkeyPatch):
    """More 18: as it is, and as the header that it stood in."""

    async def proxy(request: web.Request) -> web.Response:
        return web.Response(text=f"denied: {request.headers['Proxy-Authorization']} hunter2hunter2", status=status)

    async with serving(proxy) as url:
        monkeypatch.setenv("http_proxy", url.removesuffix("/v1").replace("http://", "me:hunter2hunter2@"))
        monkeypatch.delenv("no_proxy", raising=False)
        monkeypatch.delenv("NO_PROXY", raising=False)
        async with client_of("http://models.example/v1") as client:
            with pytest.raises(ModelError) as caught:
                await client.reply(REQUEST)
    assert "denied: Basic" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    assert "bWU6aHVudGVyM" not in str(caught.value)
    assert "aHVudGVyM" not in str(caught.value)


async def test_a_reply_that_holds_the_key_is_kept_without_it():
    """More 18: text, reasoning and finish reason are written into the run directory."""

    async def echo(request: web.Request) -> web.Response:
        key = request.headers["Authorization"]
        message = {"content": f"you sent {key}", "reasoning_content": key}
        return web.json_response({"choices": [{"message": message, "finish_reason": key}]})

    async with serving(echo) as url, client_of(url) as client:
        reply = await client.reply(REQUEST)
    assert reply.text == "you sent Bearer [key]"
    assert KEY.lower() not in repr(reply).lower()


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("userinfo", ["", "me:pass@"])
async def test_no_redirect_carries_the_key_to_another_host(status: int, userinfo: str):
    """More 18: two real servers; another host, another port, and an address with a user in it."""
    elsewhere: list[str] = []

    async def steal(request: web.Request) -> web.Response:
        elsewhere.append(str(request.headers))
        return web.json_response(completion())

    async with serving(steal) as other:
        target = other.replace("http://127.0.0.1", f"http://{userinfo}localhost") + "/chat/completions"

        async def redirect(_: web.Request) -> web.Response:
            return web.Response(status=status, headers={"Location": target})

        async with serving(redirect) as url, client_of(url) as client:
            with pytest.raises(FatalModelError, match="the server redirects to http://") as caught:
                await client.reply(REQUEST)
    assert elsewhere == []
    assert KEY not in str(caught.value)


async def test_a_redirect_that_names_the_key_shows_it_to_nobody():
    async def redirect(request: web.Request) -> web.Response:
        key = request.headers["Authorization"].removeprefix("Bearer ")
        return web.Response(status=307, headers={"Location": f"https://login.example/?key={key}"})

    async with serving(redirect) as url, client_of(url) as client:
        with pytest.raises(FatalModelError) as caught:
            await client.reply(REQUEST)
    assert "[key]" in str(caught.value)
    assert KEY not in str(caught.value)


def packed_blanks(megabytes: int, encoding: str) -> bytes:
    """Return so many megabytes of blanks as a server may send them: a small part of their size."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31 if encoding == "gzip" else 15)
    return b"".join(packer.compress(b" " * 2**20) for _ in range(megabytes)) + packer.flush()


@pytest.mark.parametrize("status", [200, 401])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
async def test_an_answer_that_unpacks_without_end_takes_little_memory(encoding: str, status: int):
    """More 18: nothing that a server sends can fill the memory, whatever its status."""
    bomb = packed_blanks(128, encoding)

    async def explode(_: web.Request) -> web.Response:
        return web.Response(status=status, body=bomb, headers={"Content-Encoding": encoding})

    tracemalloc.start()
    try:
        error = await failure_of(explode)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 6 * MOST_ANSWER_BYTES
    assert isinstance(error, TransientModelError if status == 200 else FatalModelError)
    assert ("larger than 16 MB" in error.message) == (status == 200)


async def test_an_answer_without_end_is_not_read_on():
    """More 18: the server sees the connection closed soon after the bound, and the next call is a fresh one."""
    sent = 0
    closed = asyncio.Event()

    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000000\r\n\r\n")
        try:
            while sent < 1_000_000_000:
                writer.write(b" " * 2**18)
                await writer.drain()
                sent += 2**18
        except ConnectionError:
            closed.set()
        writer.close()

    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    async with server, client_of(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1") as client:
        with pytest.raises(TransientModelError, match="compatible:small: the answer is larger than 16 MB"):
            await client.reply(REQUEST)
        await asyncio.wait_for(closed.wait(), 20)
    assert MOST_ANSWER_BYTES <= sent < 4 * MOST_ANSWER_BYTES


async def test_an_answer_as_large_as_one_may_be_is_read():
    text = json.dumps(completion())
    async with serving(answering(200, text.ljust(MOST_ANSWER_BYTES))) as url, client_of(url) as client:
        assert (await client.reply(REQUEST)).text == "4"


@pytest.mark.parametrize("usage", [None, {}, [], {"prompt_tokens": -5, "completion_tokens": 1e308}])
async def test_a_server_that_does_not_count_tokens_is_counted_by_an_estimate(usage: object):
    """Else no limit of tokens or dollars would hold."""
    body = {**completion("The answer is four."), "usage": usage}
    asked = sum(estimate_tokens(message.content) for message in REQUEST.messages)
    async with serving(answering(200, body)) as url, client_of(url) as client:
        reply = await client.reply(REQUEST)
    assert reply.usage == Usage(1, asked, 0, estimate_tokens("The answer is four."))
