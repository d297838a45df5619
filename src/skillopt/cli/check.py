"""`skillopt check`: everything that can go wrong, tried cheaply, and the plan with its price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.arguments import ConfigOption, Words, load

if TYPE_CHECKING:
    from skillopt.run.setup import Setup


def check(
    words: Words = None,
    config: ConfigOption = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no model.")] = False,
    settings: Annotated[
        bool, typer.Option("--settings", help="Print every setting, its value and its origin.")
    ] = False,
) -> int:
    """Check CONFIG before a training: settings, files, splits, tasks, environment, keys and models.

    Each model is asked one question of a few tokens. Then the plan is shown: calls and tokens by stage and their price,
    as ranges.

    Exit codes: 0 all is well; 1 a setting, file or directory is wrong; 13 a model did not answer.

    Example: skillopt check configs/quickstart.yaml --offline
    """
    loaded = load(words, config)
    import asyncio
    from datetime import UTC, datetime

    from skillopt.cli.planning import show_plan
    from skillopt.cli.terminal import console
    from skillopt.models.prices import Prices
    from skillopt.run.plan import plan
    from skillopt.run.setup import prepare

    setup = prepare(loaded)
    out = console()
    if settings:
        _show_settings(setup)
    counts = ", ".join(f"{name} {len(setup.splits[name])}" for name in ("train", "val", "test"))
    out.print(f"settings  ok  {loaded.path}", markup=False, highlight=False, soft_wrap=True)
    out.print(f"tasks     ok  {counts}; every one has what the environment needs", highlight=False)
    if not offline:
        asyncio.run(_ask_models(setup))
    show_plan(plan(setup, Prices(setup.config.model, on=datetime.now(UTC).date())))
    return 0


async def _ask_models(setup: Setup) -> None:
    """Ask each model one short question, in the very way in which the training asks."""
    import os
    from datetime import UTC, datetime

    from skillopt.cli.terminal import console, plain
    from skillopt.models.base import ChatModel, ChatRequest
    from skillopt.models.prices import Prices
    from skillopt.models.retry import Retry
    from skillopt.run.accounts import Accounts
    from skillopt.run.models import open_models, role_settings
    from skillopt.types import Message, Place, Role

    out = console()
    accounts = Accounts(Prices(setup.config.model, on=datetime.now(UTC).date()))

    def on_retry(role: Role, retry: Retry) -> None:
        out.print(f"{role}: {plain(retry.error.message)}; trying again", markup=False, highlight=False)

    request = ChatRequest((Message("user", "Reply with the one word: ready"),), Place("check"))
    async with open_models(setup.config, accounts, environment=os.environ, on_retry=on_retry) as models:
        asked: tuple[tuple[Role, ChatModel], ...] = (("target", models.target), ("optimizer", models.optimizer))
        for role, model in asked:
            reply = await model.reply(request)
            name = plain(role_settings(setup.config, role).name)
            answer = plain(" ".join(reply.text.split())[:40]) or f"(no text; finish reason {reply.finish_reason})"
            out.print(f"{role:<9} ok  {name} answered: {answer}", markup=False, highlight=False)


def _show_settings(setup: Setup) -> None:
    from rich import box
    from rich.table import Table

    from skillopt.cli.terminal import console, plain

    table = Table(box=box.SIMPLE, pad_edge=False)
    for column in ("setting", "value", "origin"):
        table.add_column(column, overflow="fold")
    for row in setup.loaded.resolved_table(setup.environment.settings):
        table.add_row(row.key, plain(str(row.value)), str(row.origin))
    console().print(table, markup=False)
