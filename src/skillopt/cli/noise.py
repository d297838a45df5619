"""`skillopt noise`: how much of a gain on the selection split would be luck."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli.arguments import ConfigOption, ConfigWord, Overrides, load
from skillopt.cli.evaluate import evaluation_directory
from skillopt.cli.pages import MEASURED, page

EPILOG = page(
    examples=(
        "skillopt noise config.yaml",
        "skillopt noise config.yaml --passes 4",
        "skillopt noise config.yaml evaluation.gate_metric=soft --out run",
    ),
    codes=MEASURED,
)


def noise(
    config_word: ConfigWord = None,
    overrides: Overrides = None,
    config: ConfigOption = None,
    passes: Annotated[
        int, typer.Option("--passes", min=2, metavar="N", help="How many times the seed skill is measured.")
    ] = 2,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where the result and the evidence are kept, by default where `skillopt eval` keeps them; with a run "
            "directory, what the run measured is not paid again.",
        ),
    ] = None,
) -> int:
    """Measure the seed skill of CONFIG several times on the selection split, and show how far the scores lie apart.

    Shown are the noise floor, the smallest gain that the split can show, the chance that the gate accepts an edit that
    changes nothing and the gain it would then seem to have, and what more passes (evaluation.repeats) or more tasks
    would change about it, with their price.
    """
    loaded = load(config_word, overrides, config)
    import asyncio

    from skillopt import api
    from skillopt.cli.comparison import Counting
    from skillopt.cli.noise_report import show_noise, write_noise
    from skillopt.cli.signals import ending_in_order
    from skillopt.run.noise import noise_report
    from skillopt.run.outcome import EndState
    from skillopt.run.setup import prepare

    setup = prepare(loaded)
    directory = Path(out) if out else evaluation_directory(setup)
    counting = Counting(passes * len(setup.splits.val))
    with ending_in_order():
        rollouts = asyncio.run(
            api.repeat_seed(setup, passes=passes, directory=directory, observer=counting, on_retry=counting.on_retry)
        )
    report = noise_report(setup, rollouts)
    write_noise(directory, report)
    show_noise(setup, report, directory=directory)
    return 0 if not report.unmeasured else EndState.PROVIDER_FAILED.exit_code
