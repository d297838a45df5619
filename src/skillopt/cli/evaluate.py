"""`skillopt eval`: measures skills on a split, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from skillopt.cli.arguments import ConfigOption, ConfigWord, Overrides, load
from skillopt.cli.pages import MEASURED, page

if TYPE_CHECKING:
    from skillopt.run.setup import Setup
    from skillopt.types import SplitName

EPILOG = page(
    examples=(
        "skillopt eval config.yaml",
        "skillopt eval config.yaml --skill seed_skill.md --skill run/best_skill.md",
        "skillopt eval config.yaml --skill run/best_skill.md --split all --out run",
        "skillopt-eval --config config.yaml --skill best_skill.md --split valid_unseen",
    ),
    codes=MEASURED,
)


def evaluate(
    config_word: ConfigWord = None,
    overrides: Overrides = None,
    config: ConfigOption = None,
    skill: Annotated[
        list[str] | None,
        typer.Option("--skill", metavar="FILE", help="A skill to measure; give it several times to compare."),
    ] = None,
    split: Annotated[
        str,
        typer.Option(
            "--split", metavar="NAME", help="train, val, test or all; also valid_seen (val) and valid_unseen (test)."
        ),
    ] = "test",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="DIR",
            help="Where results and evidence are kept, by default below outputs. Any number of evaluations may share "
            "it, one after the other; with a run directory, what the run measured is not paid again.",
        ),
    ] = None,
) -> int:
    """Measure one or more skills on a split of CONFIG's tasks.

    With several skills, each is compared with the first one task by task: the difference, its 95 % interval and the
    sign test on the tasks that changed. Without --skill the seed skill of the configuration is measured
    (env.skill_init). A task that could not be measured has no score and takes part in no comparison.
    """
    loaded = load(config_word, overrides, config)
    import asyncio

    from skillopt import api
    from skillopt.cli.comparison import Counting, show_evaluation, write_evaluation
    from skillopt.cli.signals import ending_in_order
    from skillopt.run.models import simulated
    from skillopt.run.outcome import EndState
    from skillopt.run.setup import prepare
    from skillopt.skill.document import Skill

    name = _split(split)
    setup = prepare(loaded)
    tasks = api.split_tasks(setup, name)
    names = tuple(skill or [loaded.config.env.skill_init or "(empty skill)"])
    skills = [Skill.load(Path(file)) for file in skill] if skill else [setup.seed_skill]
    directory = Path(out) if out else evaluation_directory(setup)
    counting = Counting(len(tasks) * len(skills))
    with ending_in_order():
        result = asyncio.run(
            api.evaluate(setup, skills, tasks, directory=directory, observer=counting, on_retry=counting.on_retry)
        )
    write_evaluation(directory, name, names, result)
    of_simulation = simulated(setup.config, roles=("target",))
    show_evaluation(names, name, result, directory=directory, simulated_models=of_simulation)
    measured = all(rollout.measured for rollouts in result.rollouts for rollout in rollouts)
    return 0 if measured else EndState.PROVIDER_FAILED.exit_code


def _split(name: str) -> SplitName | Literal["all"]:
    from skillopt.data.split_names import parse_split

    name = name.strip().lower()
    return "all" if name == "all" else parse_split(name)


def evaluation_directory(setup: Setup) -> Path:
    """Return where evaluations are kept unless a person says otherwise: below outputs, by environment and target."""
    from skillopt.text_files import readable_name

    config = setup.config
    return Path.cwd() / "outputs" / f"eval_{Path(config.env.name).stem}_{readable_name(config.model.target.name)}"
