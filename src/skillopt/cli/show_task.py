"""What the target did on a task, in a step or in a whole run: the conversation, the verdict, the feedback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from skillopt.cli.show_run import named, readable, record_of, say_command
from skillopt.cli.terminal import new_table, say, show_table
from skillopt.errors import UsageError
from skillopt.report.run_files import RunFiles
from skillopt.report.step_files import slow_update_place, step_place
from skillopt.report.stored_rows import RolloutRow
from skillopt.text_files import plain


def show_task(run: RunFiles, step: int, task: str) -> None:
    """Print each conversation that the target had on a task in a step.

    Args:
        run: The run.
        step: From 1; 0 is the baseline.
        task: Its id.

    Raises:
        UsageError: If the task, or the step, did not come up.
    """
    record_of(run, step)
    places = _places(run, step)
    found = [(place, row) for place in places for row in run.rollouts(place) if row.id == task]
    if not found:
        raise _unknown(f"step {step}", task, (row.id for place in places for row in run.rollouts(place)))
    for place, row in found:
        say(f"{plain(place)}: {verdict(row)}", style="bold")
        page = run.trajectory(place, task, repeat=row.repeat)
        if page is not None:
            say(plain(page))
        elif row.failure is not None:
            say(plain(f"{row.failure.error_type} in {row.failure.stage}: {row.failure.message}"))


def show_task_in_run(run: RunFiles, task: str) -> None:
    """Print where a task came up in a run, and how it went each time.

    Raises:
        UsageError: If it never came up.
    """
    with readable(run):
        places: list[tuple[int | None, str]] = [
            (step, place) for step in (0, *run.steps) for place in _places(run, step)
        ]
        places += [(None, place) for epoch in run.epochs for place in _places_between(epoch)]
        places += [(None, place) for place in _LAST]
    found = [(step, place, row) for step, place in places for row in run.rollouts(place) if row.id == task]
    if not found:
        raise _unknown("this run", task, (row.id for _, place in places for row in run.rollouts(place)))
    table = new_table("where", "what became of it", "answer")
    for _, place, row in found:
        table.add_row(plain(place), verdict(row), plain(row.predicted_answer or row.response[:80]))
    show_table(table)
    shown = [step for step, _, _ in found if step is not None]
    if shown:
        say("What it did in a step:")
        say_command(run, "--step", str(shown[-1]), "--task", task)


def verdict(row: RolloutRow) -> str:
    """Return how a task was scored, in a few words."""
    if row.hard is None or row.soft is None:
        return f"not measured ({plain(row.status)})"
    partial = "" if row.soft == row.hard else f", partial credit {row.soft:.3f}"
    return ("solved" if row.hard else "failed") + partial


_LAST = ("selection_eval_final_baseline", "selection_eval_final", "test_eval_baseline", "test_eval")


def _places(run: RunFiles, step: int) -> Sequence[str]:
    if step == 0:
        return ("selection_eval_baseline",)
    place, files = step_place(step), run.step(step)
    lost = [f"{draw.place}/selection_eval" for draw in files.lost] if files is not None else []
    own = ("rollout", "selection_eval_refresh", "selection_eval", "selection_eval_again")
    return (*(f"{place}/{name}" for name in own[:2]), *lost, *(f"{place}/{name}" for name in own[2:]))


def _places_between(epoch: int) -> Sequence[str]:
    own = ("rollout_prev", "rollout_curr", "selection_eval")
    return [f"{slow_update_place(epoch)}/{name}" for name in own]


def _unknown(where: str, task: str, known: Iterable[str]) -> UsageError:
    ids = sorted(set(known))
    near = difflib.get_close_matches(task, ids, n=5, cutoff=0.5) or ids[:5]
    hint = f"Near it: {named(near)}." if near else "No task was measured there."
    return UsageError(f"task {plain(task)} did not come up in {where}", hint=hint)
