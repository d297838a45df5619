"""`skillopt train`: trains a skill, shows how it goes, and says what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.arguments import ConfigOption, ConfigWord, Overrides, load
from skillopt.cli.pages import ERROR, end_codes, page

if TYPE_CHECKING:
    from skillopt.config.load import LoadedConfig

EPILOG = page(
    examples=(
        "skillopt train config.yaml",
        "skillopt train config.yaml --dry-run",
        "skillopt train config.yaml train.num_epochs=2 env.out_root=runs/two_epochs",
        "skillopt-train --config config.yaml --cfg-options train.num_epochs=2",
        "skillopt train config.yaml --json > events.jsonl",
    ),
    codes=end_codes(),
)


def train(
    config_word: ConfigWord = None,
    overrides: Overrides = None,
    config: ConfigOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and its price; ask no model.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Begin a large training without being asked.")] = False,
    json_events: Annotated[
        bool, typer.Option("--json", help="Print every event as a line of JSON, and nothing else.")
    ] = False,
) -> int:
    """Train a skill as CONFIG says, and measure it on held-out tasks.

    On a terminal you see the stage at work, the scores, what was spent and about how long it will take; elsewhere plain
    lines. At the end: the scores of the seed skill and the best skill, the difference between the two documents, and
    where all of it lies.

    On a terminal you are asked before a training begins that may cost much and that nothing limits (limits.dollars).

    The run directory is env.out_root, or a new one below outputs. Run the same command again on the same directory and
    the run goes on where it stopped: what was recorded is never paid twice. Other settings or other data on the same
    directory are an error that lists the differences.
    """
    loaded = load(config_word, overrides, config)
    if dry_run:
        return _show_plan(loaded)
    if not (yes or json_events):
        from skillopt.cli.confirming import confirmed

        if not confirmed(loaded):
            return ERROR
    import asyncio

    from skillopt import api
    from skillopt.cli.closing import show_outcome
    from skillopt.cli.progress import open_progress

    with open_progress(json_events=json_events) as progress:
        outcome = asyncio.run(api.train(loaded, subscribers=[progress]))
    if not json_events:
        show_outcome(outcome)
    return outcome.state.exit_code


def _show_plan(loaded: LoadedConfig) -> int:
    from datetime import UTC, datetime

    from skillopt.cli.planning import show_plan
    from skillopt.models.prices import Prices
    from skillopt.run.plan import plan
    from skillopt.run.setup import prepare

    setup = prepare(loaded)
    show_plan(plan(setup, Prices(setup.config.model, on=datetime.now(UTC).date())))
    return 0
