"""`skillopt diff`: two runs, or two skills, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli.pages import page
from skillopt.errors import UsageError

EPILOG = page(
    examples=(
        "skillopt diff run other_run",
        "skillopt diff seed_skill.md run/best_skill.md",
        "skillopt diff seed_skill.md run/best_skill.md --run run",
    ),
    codes={0: "they were compared, whether they are equal or not"},
)


def diff(
    first: Annotated[str, typer.Argument(metavar="A", help="A run directory or a skill file.", show_default=False)],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one of the same kind.", show_default=False)],
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="With two skills: the run directory whose evidence compares them."),
    ] = None,
) -> int:
    """Compare two runs, or two skills.

    Of two runs: the settings that differ, scores and spending side by side, the tasks that one's best skill solves and
    the other's does not, with the exact sign test, and the difference between their best skills.

    Of two skills: the difference between their texts, and with --run the tasks on which they differ, as far as that run
    or an evaluation on its directory has measured both. Nothing is paid: it names the command that measures the rest.
    """
    paths = (Path(first), Path(second))
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", hint="Name two run directories, or two skill files.")
    if all(path.is_dir() for path in paths):
        if run is not None:
            raise UsageError("--run goes with two skill files", hint="Two runs are compared by their own evidence.")
        from skillopt.cli.run_difference import show_run_difference
        from skillopt.report.run_files import RunFiles

        show_run_difference(RunFiles(paths[0]), RunFiles(paths[1]))
        return 0
    if any(path.is_dir() for path in paths):
        raise UsageError(
            f"{first} and {second} are not of one kind", hint="Name two run directories, or two skill files."
        )
    from skillopt.cli.skill_difference import show_skill_difference

    show_skill_difference(*paths, run=None if run is None else Path(run))
    return 0
