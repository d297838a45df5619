"""`skillopt train`: trains a skill, shows how it goes, and says what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from skillopt.cli.arguments import ConfigOption, Words, load

if TYPE_CHECKING:
    from skillopt.config.load import LoadedConfig


def train(
    words: Words = None,
    config: ConfigOption = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the plan and its price; ask no model.")] = False,
    json_events: Annotated[bool, typer.Option("--json", help="Print every event as a line of JSON.")] = False,
) -> int:
    """Train a skill as CONFIG says, and measure it on held-out tasks.

    Run the same command again on the same run directory (env.out_root) and the run goes on where it stopped: recorded
    answers are never paid twice.

    Exit codes: 0 improved; 10 all_rejected; 11 no_candidates; 12 saturated; 13 provider_failed; 14 limit_reached;
    1 a setting, file or directory is wrong; 2 wrong use; 130 interrupted.

    Example: skillopt train configs/quickstart.yaml train.num_epochs=2 env.out_root=runs/two_epochs
    """
    loaded = load(words, config)
    if dry_run:
        return _show_plan(loaded)
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
