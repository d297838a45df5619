"""Both models in their wrappers, opened in one way for all who ask them."""

from __future__ import annotations

import asyncio
import json
import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.support.engine import engine_environment
from tests.support.runs import SMALL, write_run

from skillopt.config.load import load_config
from skillopt.config.schema import Config
from skillopt.errors import ConfigError, FatalModelError
from skillopt.models.base import ChatRequest
from skillopt.models.prices import Prices
from skillopt.models.retry import Retry
from skillopt.run.accounts import Accounts
from skillopt.run.models import open_models, role_settings, simulated
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call, Fault, scripted
from skillopt.types import Message, Place, Role

REQUEST = ChatRequest((Message("user", SMALL.tasks[0].question),), Place("rollout", 1, 1))


def configured(directory: Path, server: SimulatedServer | None = None, **settings: Any) -> Config:
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    return load_config(write_run(directory, server=server, settings=dotted)).config


def accounts(config: Config) -> Accounts:
    return Accounts(Prices(config.model, on=date(2025, 1, 1)))


def unexpected(role: Role, retry: Retry) -> None:
    raise AssertionError(f"{role} was asked again: {retry.error}")


async def test_each_role_asks_its_own_model_and_pays_into_its_own_account(tmp_path: Path) -> None:
    """F100: the optimizer's calls went to another vendor's client."""
    async with SimulatedServer(SMALL) as server:
        config = configured(tmp_path, server)
        kept = accounts(config)
        async with open_models(config, kept, environment={}, on_retry=unexpected) as models:
            await models.target.reply(REQUEST)
            await models.optimizer.reply(REQUEST)
            await models.optimizer.reply(REQUEST)
        assert [call.model for call in server.calls] == ["target", "optimizer", "optimizer"]
    assert (kept.paid.total("target").usage.calls, kept.paid.total("optimizer").usage.calls) == (1, 2)
    assert kept.used.rows() == ()


async def test_only_the_roles_that_are_needed_are_opened(tmp_path: Path) -> None:
    config = configured(tmp_path, model__optimizer__name="openai:gpt-5.5")
    opening = open_models(config, accounts(config), environment={}, on_retry=unexpected, roles=("target",))
    async with opening as models:
        assert list(models.opened) == ["target"]
        await models.target.reply(REQUEST)
    assert (simulated(config), simulated(config, roles=("optimizer",))) == (True, False)


async def test_simulated_models_are_opened_in_process(tmp_path: Path) -> None:
    config = configured(tmp_path)
    async with open_models(config, accounts(config), environment={}, on_retry=unexpected) as models:
        assert models.target.identity["world"] == dict(SMALL.identity)
        assert (await models.target.reply(REQUEST)).text.startswith("I know no house rule")


async def test_local_models_share_one_server_that_ends_with_the_block(tmp_path: Path) -> None:
    """F100: the same dispatch for both roles; the name picks the embedded model and no other client."""
    (tmp_path / "tiny.gguf").write_bytes(b"GGUF tiny")
    name = f"local:{tmp_path / 'tiny.gguf'}"
    config = configured(tmp_path, model__target__name=name, model__optimizer__name=name)
    environment = engine_environment(tmp_path)
    async with open_models(config, accounts(config), environment=environment, on_retry=unexpected) as models:
        said = [json.loads((await model.reply(REQUEST)).text) for model in (models.target, models.optimizer)]
        assert models.target.identity == models.optimizer.identity
        assert models.target.identity["provider"] == "local"
    assert said[0]["pid"] == said[1]["pid"]
    with pytest.raises(ProcessLookupError):
        os.kill(said[0]["pid"], 0)


async def test_a_failure_that_may_pass_is_tried_again_and_told_with_its_role(tmp_path: Path) -> None:
    told: list[tuple[str, int, int | None]] = []

    def on_retry(role: Role, retry: Retry) -> None:
        told.append((role, retry.attempt, retry.error.status))

    async with SimulatedServer(SMALL, weather=scripted([Fault("status", 503)])) as server:
        config = configured(tmp_path, server, model__target__attempts=2)
        async with open_models(config, accounts(config), environment={}, on_retry=on_retry) as models:
            await models.target.reply(REQUEST)
    assert told == [("target", 1, 503)]


async def test_a_provider_that_asks_for_fewer_calls_is_told_once_with_its_role(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillopt.models.retry.FIRST_BACKOFF", 0.0)
    told: list[tuple[Role, int]] = []
    busy = [Fault("status", 429, retry_after="0")] * 2

    async with SimulatedServer(SMALL, weather=scripted(busy)) as server:
        config = configured(tmp_path, server, model__optimizer__attempts=3, model__optimizer__concurrency=6)
        opening = open_models(
            config,
            accounts(config),
            environment={},
            on_retry=lambda role, retry: None,
            on_slowed=lambda role, allowed: told.append((role, allowed)),
        )
        async with opening as models:
            await models.optimizer.reply(REQUEST)
            await models.target.reply(REQUEST)
    assert told == [("optimizer", 3)]


async def test_a_blank_reply_of_the_target_is_paid_and_asked_again_and_one_of_the_optimizer_is_handed_on(
    tmp_path: Path,
) -> None:
    told: list[Role] = []

    async with SimulatedServer(SMALL, weather=scripted([Fault("empty"), Fault("reasoning_only"), None])) as server:
        config = configured(tmp_path, server, model__target__attempts=3)
        kept = accounts(config)
        async with open_models(config, kept, environment={}, on_retry=lambda role, _: told.append(role)) as models:
            assert (await models.target.reply(REQUEST)).text
    assert told == ["target", "target"]
    assert kept.paid.total("target").usage.calls == 3
    async with SimulatedServer(SMALL, weather=scripted([Fault("empty")])) as server:
        config = configured(tmp_path, server)
        async with open_models(config, accounts(config), environment={}, on_retry=unexpected) as models:
            assert (await models.optimizer.reply(REQUEST)).text == ""


async def test_at_most_the_configured_number_of_calls_is_in_flight(tmp_path: Path) -> None:
    in_flight = most = 0

    async def delay(call: Call) -> None:
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        await asyncio.sleep(0.01)
        in_flight -= 1

    async with SimulatedServer(SMALL, delay=delay) as server:
        config = configured(tmp_path, server, model__target__concurrency=3)
        async with open_models(config, accounts(config), environment={}, on_retry=unexpected) as models:
            await asyncio.gather(*(models.target.reply(REQUEST) for _ in range(12)))
    assert most == 3


async def test_the_key_comes_from_the_environment_that_is_handed_in(tmp_path: Path) -> None:
    async with SimulatedServer(SMALL, api_key="right") as server:
        config = configured(tmp_path, server, model__target__api_key_env="TARGET_KEY")
        kept = accounts(config)
        async with open_models(config, kept, environment={"TARGET_KEY": "right"}, on_retry=unexpected) as models:
            await models.target.reply(REQUEST)
            with pytest.raises(FatalModelError, match="Incorrect API key"):
                await models.optimizer.reply(REQUEST)
    assert kept.paid.total().usage.calls == 1


async def test_the_connections_are_given_back_at_the_end_of_the_block(tmp_path: Path) -> None:
    """Warnings are errors: an unclosed session would fail this test."""
    async with SimulatedServer(SMALL) as server:
        config = configured(tmp_path, server)
        with pytest.raises(RuntimeError, match="meant"):
            async with open_models(config, accounts(config), environment={}, on_retry=unexpected) as models:
                await models.target.reply(REQUEST)
                raise RuntimeError("meant")


async def test_a_model_that_nobody_offers_is_an_error_with_its_key(tmp_path: Path) -> None:
    """F13: nothing falls back to another model."""
    config = configured(tmp_path, model__optimizer__name="opnai:gpt-5.5")
    with pytest.raises(ConfigError, match=r"model\.optimizer\.name"):
        async with open_models(config, accounts(config), environment={}, on_retry=unexpected):
            pass


def test_the_settings_of_a_role_are_its_own(tmp_path: Path) -> None:
    config = configured(tmp_path, model__target__timeout=7.0)
    assert role_settings(config, "target").timeout == 7.0
    assert role_settings(config, "optimizer").timeout == 300.0


@pytest.mark.parametrize(
    ("target", "optimizer", "wanted"),
    [
        ("simulated:target", "openai:gpt-5.5", True),
        ("openai:gpt-5.5", "compatible:simulated-optimizer", True),
        ("openai:gpt-5.5", "ollama:qwen3", False),
    ],
)
def test_numbers_are_simulated_if_one_of_the_models_is(
    tmp_path: Path, target: str, optimizer: str, wanted: bool
) -> None:
    config = configured(tmp_path, model__target__name=target, model__optimizer__name=optimizer)
    assert simulated(config) is wanted
