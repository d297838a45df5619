"""The two models of a run, each in its stack of wrappers: retry around limiter around meter around the model.

One table says which provider is opened how; there is no other way in for training, evaluation or preflight.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from skillopt.config.schema import Config, RoleSettings
from skillopt.models.base import ChatModel
from skillopt.models.limiter import LimitedModel, Limiter
from skillopt.models.local import LocalServers, open_local
from skillopt.models.meter import MeteredModel
from skillopt.models.providers import open_remote_model, parse_model_name
from skillopt.models.retry import Retry, RetryingModel
from skillopt.run.accounts import Accounts
from skillopt.types import Role

OnRetry = Callable[[Role, Retry], None]
"""Told of every attempt that failed and will be followed by another."""


@dataclass(frozen=True, slots=True)
class Models:
    """The two models, ready to be asked."""

    target: ChatModel
    optimizer: ChatModel


def role_settings(config: Config, role: Role) -> RoleSettings:
    """Return the settings of a role."""
    return config.model.target if role == "target" else config.model.optimizer


def simulated(config: Config) -> bool:
    """Whether any model is simulated, in process or behind an address, so that the numbers say nothing of real ones."""
    roles: tuple[Role, ...] = ("target", "optimizer")
    names = [parse_model_name(role_settings(config, role).name) for role in roles]
    return any(name.provider == "simulated" or name.model.startswith("simulated-") for name in names)


@asynccontextmanager
async def open_models(
    config: Config, accounts: Accounts, *, environment: Mapping[str, str], on_retry: OnRetry
) -> AsyncGenerator[Models]:
    """Open both models for the length of the block.

    Args:
        config: The run's settings.
        accounts: Where every paid reply is counted.
        environment: Where keys and the cache of weights are looked up (`os.environ`).
        on_retry: Told of retries.

    Raises:
        ConfigError: If a model's name, address, key or weights are missing or wrong.
        MissingDependencyError: If a provider needs an extra that is not installed.
    """
    async with LocalServers(environment) as servers, AsyncExitStack() as stack:

        async def opened(role: Role) -> ChatModel:
            settings = role_settings(config, role)
            model = await _open(role, settings, environment, servers)
            stack.push_async_callback(model.close)
            metered = MeteredModel(model, accounts.paid, role=role, prices=accounts.prices)
            limited = LimitedModel(metered, Limiter(settings.concurrency))
            return RetryingModel(
                limited,
                settings.attempts,
                seed=config.train.seed,
                on_retry=lambda retry: on_retry(role, retry),
            )

        yield Models(target=await opened("target"), optimizer=await opened("optimizer"))


async def _open(role: Role, settings: RoleSettings, environment: Mapping[str, str], servers: LocalServers) -> ChatModel:
    provider = parse_model_name(settings.name, key=f"model.{role}.name").provider
    if provider == "simulated":
        from skillopt.simulation.opening import open_simulated

        return open_simulated(settings.name)
    if provider == "local":
        return await open_local(settings, servers=servers)
    return open_remote_model(role, settings, environment)
