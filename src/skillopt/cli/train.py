"""`skillopt train`: trains a skill, shows how it goes, and says what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.arguments import ConfigOption, ConfigWord, Overrides, load
from skillopt.cli.pages import ERROR, end_codes, page
from skillopt.errors import UsageError

if TYPE_CHECKING:
    from skillopt.config.load import LoadedConfig

EPILOG = page(
    examples=(
        "skillopt train config.yaml",
        "skillopt train config.yaml --dry-run",
        "skillopt train config.yaml train.num_epochs=2 env.out_root=runs/two_epochs",
        "skillopt train runs/first/config.yaml optimizer.learning_rate=4 --fork runs/second",
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
    fork: Annotated[
        str | None,
        typer.Option(
            "--fork",
            metavar="DIRECTORY",
            help="Keep the run in a new directory, and share what the run in env.out_root has paid for.",
        ),
    ] = None,
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
    directory are an error that lists the differences; more epochs go on with the run. With --fork they are a new run
    that pays for nothing the run in env.out_root has paid for, as far as it still fits.
    """
    if dry_run and json_events:
        raise UsageError(
            "--dry-run and --json do not go together: a plan has no events",
            hint="Leave one of the two out.",
        )
    loaded = load(config_word, overrides, config)
    if dry_run:
        return _show_plan(loaded, fork=fork)
    if not (yes or json_events):
        from skillopt.cli.confirming import confirmed

        if not confirmed(loaded, fork=fork):
            return ERROR
    return _train(loaded, fork=fork, json_events=json_events)


def _train(loaded: LoadedConfig, *, fork: str | None, json_events: bool) -> int:
    import asyncio

    from skillopt import api
    from skillopt.cli.closing import show_outcome
    from skillopt.cli.progress import open_progress
    from skillopt.cli.signals import ending_in_order
    from skillopt.cli.terminal import say
    from skillopt.run.outcome import EndState
    from skillopt.text_files import plain

    with ending_in_order() as interruption, open_progress(json_events=json_events) as progress:
        outcome = asyncio.run(api.train(loaded, fork=fork, subscribers=[progress]))
    if not json_events:
        show_outcome(outcome)
    if outcome.state is EndState.INTERRUPTED:
        raise interruption.error()  # It knows the signal, which has a code of its own.
    if outcome.state in (EndState.LIMIT_REACHED, EndState.PROVIDER_FAILED):
        say(f"error: {plain(outcome.message)}", stderr=True)
    return outcome.state.exit_code


def _show_plan(loaded: LoadedConfig, *, fork: str | None) -> int:
    from datetime import UTC, datetime

    from skillopt.cli.planning import show_plan
    from skillopt.models.prices import Prices
    from skillopt.run.forking import check_fork, fork_of
    from skillopt.run.plan import plan
    from skillopt.run.setup import prepare

    setup = prepare(loaded)
    if fork is not None:
        check_fork(fork_of(setup.config.env, fork))
    show_plan(plan(setup, Prices(setup.config.model, on=datetime.now(UTC).date())))
    return 0
