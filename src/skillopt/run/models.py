"""The two models of a run, each in its stack of wrappers: retry, limiter, limits, meter, and the model inside.

A blank reply of the target is a failed attempt; one of the optimizer is answered with its error (`structured.py`).

One table says which provider is opened how; there is no other way in for training, evaluation or preflight.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from skillopt.config.model_settings import RoleSettings
from skillopt.config.schema import Config
from skillopt.models.answers import AnsweringModel, answers
from skillopt.models.base import ChatModel, ChatReply
from skillopt.models.limiter import LimitedModel, Limiter
from skillopt.models.local import LocalServers, open_local
from skillopt.models.meter import MeteredModel
from skillopt.models.providers import open_remote_model, parse_model_name
from skillopt.models.retry import Retry, RetryingModel
from skillopt.models.spans import SentModel, SpannedModel, note_retry
from skillopt.models.tracing import find_tracing
from skillopt.run.accounts import Accounts
from skillopt.run.allowance import Allowance, AllowedModel
from skillopt.types import Role

OnRetry = Callable[[Role, Retry], None]
"""Told of every attempt that failed and will be followed by another."""

OnSlowed = Callable[[Role, int], None]
"""Told the first time that a role's provider asks for fewer calls: how many may be in flight then."""

ROLES: tuple[Role, ...] = ("target", "optimizer")
"""Both roles, in the order in which their models are opened."""


@dataclass(frozen=True, slots=True)
class Models:
    """The models that were opened, ready to be asked. Who wants another one did not open it."""

    opened: Mapping[Role, ChatModel]

    @property
    def target(self) -> ChatModel:
        """The model that does tasks."""
        return self.opened["target"]

    @property
    def optimizer(self) -> ChatModel:
        """The model that edits the skill."""
        return self.opened["optimizer"]


def role_settings(config: Config, role: Role) -> RoleSettings:
    """Return the settings of a role."""
    return config.model.target if role == "target" else config.model.optimizer


def simulated(config: Config, *, roles: Sequence[Role] = ROLES) -> bool:
    """Whether any model is simulated, in process or behind an address, so that the numbers say nothing of real ones."""
    names = [parse_model_name(role_settings(config, role).name) for role in roles]
    return any(name.provider == "simulated" or name.model.startswith("simulated-") for name in names)


def _let_be(role: Role, allowed: int) -> None:
    """Take no note of a role that is slowed down."""


@asynccontextmanager
async def open_models(
    config: Config,
    accounts: Accounts,
    *,
    environment: Mapping[str, str],
    on_retry: OnRetry,
    on_slowed: OnSlowed = _let_be,
    roles: Sequence[Role] = ROLES,
) -> AsyncGenerator[Models]:
    """Open the models for the length of the block.

    Args:
        config: The run's settings.
        accounts: Where every paid reply is counted.
        environment: Where keys and the cache of weights are looked up (`os.environ`).
        on_retry: Told of retries.
        on_slowed: Told once for each role whose provider asks for fewer calls.
        roles: Whose models are needed: of another one neither key nor address nor weights are looked at.

    Raises:
        ConfigError: If a model's name, address, key or weights are missing or wrong.
        MissingDependencyError: If a provider needs an extra that is not installed.
    """
    allowance = Allowance(
        config.limits,
        paid=accounts.billed,
        prices=accounts.prices,
        reply_tokens={role: role_settings(config, role).max_tokens for role in ROLES},
        clock=time.monotonic,
    )
    tracing = find_tracing()
    async with LocalServers(environment) as servers, AsyncExitStack() as stack:

        async def opened(role: Role) -> ChatModel:
            settings = role_settings(config, role)
            model = await _open(role, settings, environment, servers)
            stack.push_async_callback(model.close)
            # Of the optimizer a blank reply is a reply: it is recorded, and dropped by who reads it.
            useful = answers if role == "target" else _whatever_it_says
            sent = model if tracing is None else SentModel(model)
            metered = MeteredModel(sent, accounts.pay, role=role, prices=accounts.prices, useful=useful)
            limiter = Limiter(settings.concurrency, on_slowed=lambda allowed: on_slowed(role, allowed))
            limited = LimitedModel(AllowedModel(metered, allowance, role=role), limiter)

            def told(retry: Retry) -> None:
                note_retry(retry)
                on_retry(role, retry)

            retrying = RetryingModel(
                AnsweringModel(limited) if role == "target" else limited,
                settings.attempts,
                seed=config.train.seed,
                on_retry=told,
            )
            return retrying if tracing is None else SpannedModel(retrying, tracing, role=role)

        yield Models({role: await opened(role) for role in roles})


def _whatever_it_says(_: ChatReply) -> bool:
    return True


async def _open(role: Role, settings: RoleSettings, environment: Mapping[str, str], servers: LocalServers) -> ChatModel:
    provider = parse_model_name(settings.name, key=f"model.{role}.name").provider
    if provider == "simulated":
        from skillopt.simulation.opening import open_simulated

        return open_simulated(settings.name)
    if provider == "local":
        return await open_local(settings, servers=servers)
    return open_remote_model(role, settings, environment)
