"""`skillopt check`: everything that can go wrong, tried cheaply, and the plan with its price."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.arguments import ConfigOption, ConfigWord, Overrides, load
from skillopt.cli.pages import page

if TYPE_CHECKING:
    from pydantic import BaseModel

    from skillopt.config.load import LoadedConfig
    from skillopt.run.setup import Setup

EPILOG = page(
    examples=(
        "skillopt check config.yaml",
        "skillopt check config.yaml --offline",
        "skillopt check config.yaml --offline --settings train.batch_size=8",
        "skillopt check downloaded/config.yaml --no-code",
    ),
    codes={0: "all is well", 13: "a model did not answer, or not as a training needs it"},
)


def check(
    config_word: ConfigWord = None,
    overrides: Overrides = None,
    config: ConfigOption = None,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no model.")] = False,
    no_code: Annotated[
        bool,
        typer.Option(
            "--no-code",
            help="Run no code that CONFIG names, ask no model, look up no key; say what a training would run, read, "
            "send and write.",
        ),
    ] = False,
    settings: Annotated[
        bool, typer.Option("--settings", help="Print every setting, its value and where it comes from.")
    ] = False,
) -> int:
    """Check CONFIG before a training: settings, files, splits, tasks, environment, keys and models.

    Each model is asked once, in the way in which the training asks: the target does one training task with the seed
    skill, and its answer is scored; the optimizer gives an empty reply in the form that the training reads. Then the
    plan is shown: calls and tokens by stage and their price, as ranges.

    A configuration may name Python code, and checking it runs that code. Look at one from elsewhere with --no-code.
    """
    loaded = load(config_word, overrides, config)
    import asyncio
    from datetime import UTC, datetime

    from skillopt.cli.planning import show_plan
    from skillopt.cli.preflight import ask_models
    from skillopt.cli.signals import ending_in_order
    from skillopt.cli.terminal import say
    from skillopt.models.prices import Prices
    from skillopt.run.models import simulated
    from skillopt.run.plan import plan
    from skillopt.text_files import plain
    from skillopt.wording import SIMULATED

    if no_code:
        from skillopt.cli.inspection import show_inspection

        own = show_inspection(loaded)
        if settings:
            _show_settings(loaded, own)
        return 0
    setup = _set_up(loaded)
    known_models = simulated(setup.config)  # reads both names, so that a misspelt provider is found without asking
    if settings:
        _show_settings(loaded, setup.environment.settings)
    counts = ", ".join(f"{name} {len(setup.splits[name])}" for name in ("train", "val", "test"))
    say(f"settings  ok  {plain(str(loaded.path))}")
    say(f"tasks     ok  {counts}; every one has what the environment needs")
    if known_models:
        say(f"{SIMULATED}: what they answer says nothing about real ones.")
    if not offline:
        with ending_in_order():
            asyncio.run(ask_models(setup))
    show_plan(plan(setup, Prices(setup.config.model, on=datetime.now(UTC).date())))
    return 0


def _set_up(loaded: LoadedConfig) -> Setup:
    """Read all that a training reads, and make sure that what it tells its trackers by is installed."""
    from skillopt.run.setup import prepare
    from skillopt.trackers.chosen import require_libraries

    require_libraries(loaded.config.trackers)
    return prepare(loaded)


def _show_settings(loaded: LoadedConfig, environment: BaseModel | None) -> None:
    import os

    from skillopt.cli.terminal import new_table, show_table
    from skillopt.text_files import plain

    table = new_table("setting", "value", "from")
    for row in loaded.resolved_table(environment):
        origin = row.origin
        place = f"{os.path.relpath(origin.file)}, line {origin.line}" if origin.file else str(origin)
        table.add_row(row.key, plain(row.value), plain(place))
    show_table(table)
