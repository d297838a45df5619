"""`skillopt show`: walks a run, from its end to a step, to what the target did on a task, to an edit."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from skillopt.cli.pages import page
from skillopt.errors import UsageError

EPILOG = page(
    examples=(
        "skillopt show run",
        "skillopt show run --step 3",
        "skillopt show run --step 3 --task task-17",
        "skillopt show run --task task-17",
        "skillopt show run --step 3 --edit 2",
        "skillopt show run --step 3 --draw 1 --edit 2",
    ),
    codes={0: "it was shown"},
)


def show(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run directory.", show_default=False)],
    step: Annotated[
        int | None, typer.Option("--step", min=0, metavar="N", help="A step; 0 is the baseline.", show_default=False)
    ] = None,
    task: Annotated[
        str | None,
        typer.Option("--task", metavar="ID", help="A task: what the target did on it, and how it was scored."),
    ] = None,
    edit: Annotated[
        int | None,
        typer.Option("--edit", min=1, metavar="K", help="An edit of the step, by its number.", show_default=False),
    ] = None,
    draw: Annotated[
        int | None,
        typer.Option(
            "--draw",
            min=1,
            metavar="D",
            help="With --edit: the draw of the step that the edit is of, where it lost.",
            show_default=False,
        ),
    ] = None,
) -> int:
    """Show what a run did: how it ended, its scores, each step in a line, and why nothing or little improved.

    With --step, what the step's stages made: its edits with how each ended and the tasks it came from, the gate's
    verdict, and the tasks that the candidate fixed and broke. With --task, the conversation, the verdict and the
    feedback, in that step, or where the task came up in the whole run. With --edit, the edit's whole text, where it
    came from, and what became of it; edits of draws that lost have numbers of their own, behind --draw.

    A run that is still going, or was killed, can be shown as far as it is. Nothing is changed and no model is asked.
    """
    if edit is not None and (step is None or task is not None):
        raise UsageError(
            "--edit needs --step and goes without --task", hint="Such as: skillopt show run --step 3 --edit 2"
        )
    if draw is not None and edit is None:
        raise UsageError("--draw needs --edit", hint="Such as: skillopt show run --step 3 --draw 1 --edit 2")
    from skillopt.cli.show_run import show_run
    from skillopt.cli.show_step import show_edit, show_step
    from skillopt.cli.show_task import show_task, show_task_in_run
    from skillopt.report.run_files import RunFiles

    files = RunFiles(Path(run))
    if edit is not None and step is not None:
        show_edit(files, step, edit, draw=draw or 0)
    elif task is not None:
        if step is None:
            show_task_in_run(files, task)
        else:
            show_task(files, step, task)
    elif step is not None:
        show_step(files, step)
    else:
        show_run(files)
    return 0
