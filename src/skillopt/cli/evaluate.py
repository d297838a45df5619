"""`skillopt eval`: measures skills on a split, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from skillopt.cli.arguments import ConfigOption, Words, load

if TYPE_CHECKING:
    from skillopt.run.setup import Setup
    from skillopt.types import SplitName


def evaluate(
    words: Words = None,
    config: ConfigOption = None,
    skill: Annotated[
        list[str] | None,
        typer.Option("--skill", metavar="FILE", help="A skill to measure; give it several times to compare."),
    ] = None,
    split: Annotated[
        str, typer.Option("--split", help="train, val, test or all; also valid_seen (val) and valid_unseen (test).")
    ] = "test",
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="DIR", help="Where evidence and results are kept; any number of evaluations."),
    ] = None,
) -> int:
    """Measure one or more skills on a split of CONFIG's tasks.

    With several skills, each is compared with the first on the same tasks: difference, interval, sign test. Without
    --skill the seed skill of the configuration (env.skill_init) is measured. What was measured before in the same
    directory is not paid again.

    Exit codes: 0 all tasks measured; 13 some or all could not be measured; 1 a setting, file or directory is wrong.

    Example: skillopt eval config.yaml --skill seed_skill.md --skill runs/a/best_skill.md --split test
    """
    loaded = load(words, config)
    import asyncio

    from skillopt import api
    from skillopt.cli.comparison import Counting, show_evaluation, write_evaluation
    from skillopt.run.outcome import EndState
    from skillopt.run.setup import prepare
    from skillopt.skill.document import Skill

    setup = prepare(loaded)
    name = _split(split)
    tasks = api.split_tasks(setup, name)
    names = tuple(skill or [loaded.config.env.skill_init or "(empty skill)"])
    skills = [Skill.load(Path(file)) for file in skill] if skill else [setup.seed_skill]
    directory = Path(out) if out else _directory(setup)
    counting = Counting(len(tasks) * len(skills))
    result = asyncio.run(
        api.evaluate(setup, skills, tasks, directory=directory, observer=counting, on_retry=counting.on_retry)
    )
    write_evaluation(directory, name, names, result)
    show_evaluation(names, name, result, directory=directory, simulated_models=counting.simulated(setup))
    measured = all(rollout.measured for rollouts in result.rollouts for rollout in rollouts)
    return 0 if measured else EndState.PROVIDER_FAILED.exit_code


def _split(name: str) -> SplitName | Literal["all"]:
    from skillopt.data.split_names import parse_split

    return "all" if name.strip().lower() == "all" else parse_split(name)


def _directory(setup: Setup) -> Path:
    target = "".join(char if char.isalnum() or char in "-._" else "_" for char in setup.config.model.target.name)
    return Path.cwd() / "outputs" / f"eval_{Path(setup.config.env.name).stem}_{target[:60]}"
