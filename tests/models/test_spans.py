"""What the span of a model call says, over real HTTP to the simulated server and the real SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode
from tests.models.test_tracing import Broken
from tests.support.runs import SMALL, write_run
from tests.support.spans import Kept, attributes, events, kept, texts
from yarl import URL

from skillopt.config.load import load_config
from skillopt.errors import FatalModelError, LimitReached, ModelError, ModelTimeoutError, TransientModelError
from skillopt.models.base import ChatModel, ChatReply, ChatRequest, ReplySchema
from skillopt.models.prices import Prices
from skillopt.models.spans import SentModel, SpannedModel, call_attributes, error_type
from skillopt.models.tracing import Tracing
from skillopt.run.accounts import Accounts
from skillopt.run.models import Models, open_models
from skillopt.simulation.scripted import ScriptedModel
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call, Fault, Weather, fair, scripted
from skillopt.types import JsonValue, Message, Place, Usage

__all__ = ["kept"]

KEY = "sk-planted-4f9d0c7be1a2"
ASKED = SMALL.tasks[0].question
REQUEST = ChatRequest((Message("user", ASKED),), Place("rollout", 2, 5, 7))
SCHEMA = ReplySchema("edits", {"type": "object"})

Opening: TypeAlias = Callable[..., AbstractAsyncContextManager[tuple[Models, Accounts, SimulatedServer]]]


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opening:
    """Opens both models in all their wrappers, at a server with some weather; nobody waits between attempts."""
    monkeypatch.setattr("skillopt.models.retry.FIRST_BACKOFF", 0.0)

    @asynccontextmanager
    async def opening(
        *, weather: Weather = fair, delay: Any = None, **settings: Any
    ) -> AsyncIterator[tuple[Models, Accounts, SimulatedServer]]:
        async with SimulatedServer(SMALL, weather=weather, delay=delay, api_key=KEY) as server:
            dotted = {name.replace("__", "."): value for name, value in settings.items()}
            keys = {f"model.{role}.api_key_env": "SOME_KEY" for role in ("target", "optimizer")}
            config = load_config(write_run(tmp_path, server=server, settings={**keys, **dotted})).config
            accounts = Accounts(Prices(config.model, on=date(2026, 1, 1)))
            environment = {"SOME_KEY": KEY}
            opened = open_models(config, accounts, environment=environment, on_retry=lambda role, retry: None)
            async with opened as models:
                yield models, accounts, server

    return opening


async def test_a_call_is_a_span_with_the_attributes_of_the_conventions_and_its_place(
    kept: Kept, opened: Opening
) -> None:
    async with opened(model__target__temperature=0.5, model__target__max_tokens=99) as (models, _, server):
        reply = await models.target.reply(REQUEST)
        port = URL(server.base_url).port
    (span,) = kept.spans
    found = attributes(span)
    assert found.pop("skillopt.wait_seconds") >= 0
    assert (span.name, span.kind, span.parent) == ("chat simulated-target", SpanKind.CLIENT, None)
    assert span.status.status_code is StatusCode.UNSET
    assert found == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "compatible",
        "gen_ai.request.model": "simulated-target",
        "gen_ai.request.temperature": 0.5,
        "gen_ai.request.max_tokens": 99,
        "gen_ai.response.model": "simulated-target",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": reply.usage.fresh_tokens,
        "gen_ai.usage.output_tokens": reply.usage.output_tokens,
        "server.address": "127.0.0.1",
        "server.port": port,
        "skillopt.role": "target",
        "skillopt.stage": "rollout",
        "skillopt.epoch": 2,
        "skillopt.step": 5,
        "skillopt.attempts": 1,
    }
    assert events(span) == [("skillopt.attempt", {"skillopt.attempt": 1})]


@pytest.mark.parametrize(("constrains", "wanted"), [(True, "json"), (False, None)])
async def test_a_reply_that_is_asked_for_as_json_says_so(
    kept: Kept, opened: Opening, constrains: bool, wanted: str | None
) -> None:
    async with opened(model__optimizer__schema_replies=constrains) as (models, _, _):
        await models.optimizer.reply(ChatRequest(REQUEST.messages, REQUEST.place, SCHEMA))
        await models.optimizer.reply(REQUEST)
    first, second = map(attributes, kept.spans)
    assert first.get("gen_ai.output.type") == wanted
    assert "gen_ai.output.type" not in second
    assert first["skillopt.role"] == "optimizer"


async def test_no_key_and_nothing_that_was_asked_or_said_is_in_a_span(kept: Kept, opened: Opening) -> None:
    echo = [Fault("status", 503, message=f"{ASKED} {KEY}"), Fault("status", 400, message=f"{ASKED} {KEY}"), None]
    async with opened(weather=scripted(echo), model__target__attempts=3) as (models, _, _):
        with pytest.raises(FatalModelError, match="HTTP 400"):
            await models.target.reply(REQUEST)
        said = (await models.target.reply(REQUEST)).text
    assert len(kept.spans) == 2
    line = max(said.split("\n"), key=len)
    assert len(line) > 8
    assert not [secret for secret in (KEY, KEY[:10], ASKED, line) if secret in texts(kept.spans)]


async def test_attempts_are_events_of_the_one_span(kept: Kept, opened: Opening) -> None:
    faults = [Fault("status", 429, retry_after="0"), Fault("reset"), Fault("empty"), None]
    async with opened(weather=scripted(faults), model__target__attempts=4) as (models, accounts, _):
        await models.target.reply(REQUEST)
    (span,) = kept.spans
    told = events(span)
    assert [name for name, _ in told] == [*["skillopt.attempt", "skillopt.retry"] * 3, "skillopt.attempt"]
    assert [found["skillopt.attempt"] for _, found in told] == [1, 1, 2, 2, 3, 3, 4]
    failed = [found["error.type"] for name, found in told if name == "skillopt.retry"]
    assert failed == ["429", "ServerDisconnectedError", "TransientModelError"]
    assert all(found["skillopt.wait_seconds"] == 0 for name, found in told if name == "skillopt.retry")
    assert attributes(span)["skillopt.attempts"] == 4
    assert span.status.status_code is StatusCode.UNSET
    # The blank reply was paid as well.
    usage = accounts.paid.total("target").usage
    assert usage.calls == 2
    assert attributes(span)["gen_ai.usage.input_tokens"] == usage.fresh_tokens + usage.cached_tokens
    assert attributes(span)["gen_ai.usage.output_tokens"] == usage.output_tokens


async def test_an_answer_that_broke_off_counts_with_what_it_may_cost(kept: Kept, opened: Opening) -> None:
    async with opened(weather=scripted([Fault("broken_off"), None]), model__target__attempts=2) as (
        models,
        accounts,
        _,
    ):
        await models.target.reply(REQUEST)
    (span,) = kept.spans
    usage = accounts.paid.total("target").usage
    assert usage.calls == 2
    assert attributes(span)["gen_ai.usage.input_tokens"] == usage.fresh_tokens


@pytest.mark.parametrize(
    ("fault", "wanted"),
    [
        (Fault("status", 401), "401"),
        (Fault("status", 503), "503"),
        (Fault("hang"), "timeout"),
        (Fault("reset"), "ServerDisconnectedError"),
        (Fault("garbage"), "TransientModelError"),
        (Fault("error_inside", 500), "500"),
    ],
)
async def test_a_call_that_fails_says_its_kind_of_error(kept: Kept, opened: Opening, fault: Fault, wanted: str) -> None:
    settings = {"model__target__attempts": 1, "model__target__timeout": 0.5}
    async with opened(weather=scripted([fault]), **settings) as (models, _, _):
        with pytest.raises(ModelError):
            await models.target.reply(REQUEST)
    (span,) = kept.spans
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert attributes(span)["error.type"] == wanted
    assert attributes(span)["gen_ai.response.finish_reasons"] == ("error",)
    assert not span.events[1:]


async def test_a_call_that_is_cancelled_says_so(kept: Kept, opened: Opening) -> None:
    arrived = asyncio.Event()

    async def delay(_: Call) -> None:
        arrived.set()
        await asyncio.Event().wait()

    async with opened(delay=delay) as (models, _, _):
        asking = asyncio.create_task(models.target.reply(REQUEST))
        await arrived.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    (span,) = kept.spans
    assert attributes(span)["error.type"] == "cancelled"
    assert "gen_ai.usage.input_tokens" not in attributes(span)


async def test_a_call_that_was_never_sent_has_no_span(kept: Kept, opened: Opening) -> None:
    """The one place in line is taken; who waits there and is cancelled has asked nobody. Nor has who meets a limit."""
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def delay(_: Call) -> None:
        arrived.set()
        await go_on.wait()

    async with opened(delay=delay, model__target__concurrency=1, limits__calls=1) as (models, _, server):
        first = asyncio.create_task(models.target.reply(REQUEST))
        await arrived.wait()
        second = asyncio.create_task(models.target.reply(REQUEST))
        await asyncio.sleep(0)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        assert not kept.spans
        go_on.set()
        await first
        with pytest.raises(LimitReached):
            await models.target.reply(REQUEST)
        assert len(server.calls) == len(kept.spans) == 1


async def test_a_wait_in_line_lies_within_the_span(
    kept: Kept, opened: Opening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second call is asked at once and sent when the first is done: its first event is later than its start."""
    arrived, go_on = asyncio.Event(), asyncio.Event()

    async def delay(_: Call) -> None:
        arrived.set()
        await go_on.wait()

    async with opened(delay=delay, model__target__concurrency=1) as (models, _, _):
        first = asyncio.create_task(models.target.reply(REQUEST))
        await arrived.wait()
        second = asyncio.create_task(models.target.reply(REQUEST))
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(first, second)
    one, two = kept.spans
    assert (two.start_time or 0) < (one.end_time or 0) <= two.events[0].timestamp
    assert attributes(two)["skillopt.wait_seconds"] > 0


async def test_the_span_is_current_where_the_call_leaves(kept: Kept) -> None:
    """So that the spans of an instrumented HTTP client stand below it."""
    seen = list[trace.Span]()

    def said(_: ChatRequest) -> str:
        seen.append(trace.get_current_span())
        return "yes"

    tracing = Tracing(kept.provider.get_tracer("test"), tell=pytest.fail)
    model = SpannedModel(SentModel(ScriptedModel(said)), tracing, role="target")
    outer = tracing.begin("outer", {})
    with tracing.current(outer):
        await model.reply(REQUEST)
        assert trace.get_current_span() is outer
    tracing.end(outer, {})
    (call,) = kept.calls
    assert seen[0].get_span_context() == call.context
    assert kept.parent(call) is kept.named("outer")[0]
    assert call.kind is SpanKind.INTERNAL, "a simulated model in this process"


async def test_an_inner_model_by_itself_just_asks(kept: Kept) -> None:
    model = SentModel(ScriptedModel(["yes"]))
    assert (await model.reply(REQUEST)).text == "yes"
    assert not kept.spans
    await model.close()


async def test_without_a_provider_the_stack_has_no_wrapper_more(opened: Opening) -> None:
    async with opened() as (models, _, _):
        assert not isinstance(models.target, SpannedModel)
        assert not inside(models.target, SentModel)


async def test_with_a_provider_the_identity_is_the_same(kept: Kept, opened: Opening) -> None:
    async with opened() as (models, _, _):
        assert inside(models.target, SentModel)
        assert models.target.identity["model"] == "simulated-target"


def inside(model: object, kind: type[object]) -> bool:
    """Whether a model stands anywhere in a stack of wrappers."""
    while not isinstance(model, kind):
        model = getattr(model, "_model", None)
        if model is None:
            return False
    return True


@pytest.mark.parametrize("at", ["start", "end"])
async def test_a_processor_that_raises_costs_no_reply(
    kept: Kept, opened: Opening, at: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept.provider.add_span_processor(Broken(at=at))
    async with opened(weather=scripted([Fault("status", 503), None]), model__target__attempts=2) as (models, _, _):
        for _ in range(3):
            assert (await models.target.reply(REQUEST)).text
    assert caplog.messages == ["OpenTelemetry failed (OSError), so no more spans are written"]


@pytest.mark.parametrize(
    ("identity", "wanted"),
    [
        (
            {"provider": "google", "model": "gemini-3", "base_url": "https://generativelanguage.googleapis.com/v1"},
            ("gcp.gemini", "generativelanguage.googleapis.com", 443),
        ),
        ({"provider": "bedrock", "model": "claude", "base_url": ""}, ("aws.bedrock", None, None)),
        ({"provider": "xai", "model": "grok", "base_url": "http://[::1]/v1"}, ("x_ai", "::1", 80)),
        ({"provider": "local", "model": "qwen"}, ("local", None, None)),
        ({"provider": "openai", "model": "gpt", "base_url": "https://gate:8443/v1"}, ("openai", "gate", 8443)),
    ],
)
def test_providers_are_called_by_the_words_of_the_conventions(
    identity: Mapping[str, JsonValue], wanted: tuple[str, str | None, int | None]
) -> None:
    found = call_attributes(identity)
    assert (found["gen_ai.provider.name"], found.get("server.address"), found.get("server.port")) == wanted


def test_settings_that_are_unset_are_not_told() -> None:
    identity = {"provider": "openai", "model": "o", "temperature": None, "max_tokens": None, "reasoning_effort": "low"}
    found = call_attributes(identity)
    assert {name: value for name, value in found.items() if name.startswith("gen_ai.request.")} == {
        "gen_ai.request.model": "o",
        "gen_ai.request.reasoning.level": "low",
    }


async def test_cached_tokens_are_told_apart_and_counted_as_input(kept: Kept) -> None:
    class Caching(ScriptedModel):
        async def reply(self, request: ChatRequest) -> ChatReply:
            return ChatReply("yes", usage=Usage(1, fresh_tokens=3, cached_tokens=40, output_tokens=2), model="m-1")

    inner: ChatModel = Caching(())
    tracing = Tracing(kept.provider.get_tracer("test"), tell=pytest.fail)
    await SpannedModel(SentModel(inner), tracing, role="target").reply(REQUEST)
    found = attributes(kept.spans[0])
    assert found["gen_ai.usage.input_tokens"] == 43
    assert found["gen_ai.usage.cache_read.input_tokens"] == 40
    assert found["gen_ai.response.model"] == "m-1"


def test_the_kinds_of_error_are_few() -> None:
    lost = TransientModelError("m: cannot connect")
    lost.__cause__ = ConnectionRefusedError()
    assert [error_type(error) for error in (lost, ModelTimeoutError("m"), TransientModelError("m", status=502))] == [
        "ConnectionRefusedError",
        "timeout",
        "502",
    ]
    assert [error_type(error) for error in (asyncio.CancelledError(), LimitReached("calls"))] == [
        "cancelled",
        "LimitReached",
    ]
