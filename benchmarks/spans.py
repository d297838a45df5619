"""What the spans of OpenTelemetry cost a call: nothing where nobody traces, and little where somebody does."""

import statistics
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from datetime import UTC, datetime

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from benchmarks.client import REQUEST, answering_server
from skillopt.config.model_settings import RoleSettings
from skillopt.config.schema import Config
from skillopt.models.answers import AnsweringModel, answers
from skillopt.models.base import ChatModel
from skillopt.models.client import CompatibleClient
from skillopt.models.limiter import LimitedModel, Limiter
from skillopt.models.meter import MeteredModel
from skillopt.models.prices import Prices
from skillopt.models.retry import RetryingModel
from skillopt.run.accounts import Accounts
from skillopt.run.allowance import Allowance, AllowedModel
from skillopt.run.models import open_models

ROUNDS = 60
CALLS = 20
"""Calls of a round. The stacks take turns by rounds, so that what else the machine does strikes all alike."""


class Dropping(SpanExporter):
    """Takes no time: what a collector takes is not ours."""

    def export(self, spans: object) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def without_spans(config: Config, accounts: Accounts, address: str) -> ChatModel:
    """The target as it would be opened if there were no spans in the product."""
    settings = config.model.target
    client = CompatibleClient("compatible", "any", base_url=address, settings=settings)
    metered = MeteredModel(client, accounts.pay, role="target", prices=accounts.prices, useful=answers)
    allowance = Allowance(
        config.limits, paid=accounts.billed, prices=accounts.prices, reply_tokens={}, clock=time.monotonic
    )
    limited = LimitedModel(AllowedModel(metered, allowance, role="target"), Limiter(settings.concurrency))
    return RetryingModel(AnsweringModel(limited), settings.attempts, seed=0)


async def milliseconds(stacks: Mapping[str, ChatModel]) -> dict[str, float]:
    """Processor time of a call through each stack: the median over the rounds."""
    found: dict[str, list[float]] = {name: [] for name in stacks}
    for _ in range(ROUNDS):
        for name, model in stacks.items():
            began = time.process_time()
            for _ in range(CALLS):
                await model.reply(REQUEST)
            found[name].append(1000 * (time.process_time() - began) / CALLS)
    return {name: statistics.median(rounds) for name, rounds in found.items()}


async def report() -> None:
    async with answering_server() as address, AsyncExitStack() as stack:
        role = RoleSettings(name="compatible:any", base_url=address)
        config = Config.model_validate({"model": {"target": role, "optimizer": role}})
        accounts = Accounts(Prices(config.model, on=datetime.now(UTC).date()))

        async def opened() -> ChatModel:
            models = open_models(config, accounts, environment={}, on_retry=lambda role, retry: None, roles=("target",))
            return (await stack.enter_async_context(models)).target

        stacks = {"without": without_spans(config, accounts, address), "off": await opened()}
        stack.push_async_callback(stacks["without"].close)
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(Dropping()))
        trace.set_tracer_provider(provider)  # once in a process, so this benchmark is the last one
        took = await milliseconds({**stacks, "on": await opened()})
        provider.shutdown()
    for name, words in (("off", "no tracer provider"), ("on", "a tracer provider, in batches")):
        ratio = took[name] / took["without"]
        print(
            f"one call, {words}: {ratio:.2f} times one without spans in the product "
            f"({took[name]:.2f} / {took['without']:.2f} ms processor)"
        )
