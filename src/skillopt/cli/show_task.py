"""What the target did on a task, in a step or in a whole run: the conversation, the verdict, the feedback."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from skillopt.cli.show_run import named, record_of, say_command
from skillopt.cli.terminal import new_table, say, show_table
from skillopt.errors import UsageError
from skillopt.report.evaluations import evaluations, evaluations_of_step
from skillopt.report.run_files import RunFiles
from skillopt.report.step_words import verdict
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
    places = [one.place for one in evaluations_of_step(run, step)]
    found = [(place, row) for place in places for row in run.rollouts(place) if row.id == task]
    if not found:
        raise _unknown(f"step {step}", task, (row.id for place in places for row in run.rollouts(place)))
    for place, row in found:
        _show_conversation(run, place, row)


def show_task_in_run(run: RunFiles, task: str) -> None:
    """Print where a task came up in a run and how it went each time, with the conversations that no step has.

    Raises:
        UsageError: If it never came up.
    """
    places = evaluations(run)
    found = [(one, row) for one in places for row in run.rollouts(one.place) if row.id == task]
    if not found:
        raise _unknown("this run", task, (row.id for one in places for row in run.rollouts(one.place)))
    table = new_table("where", "what became of it", "answer")
    for one, row in found:
        table.add_row(_where(one.place, row), plain(verdict(row)), plain(row.predicted_answer or row.response[:80]))
    show_table(table)
    for one, row in found:
        if one.step is None:
            _show_conversation(run, one.place, row)
    shown = [one.step for one, _ in found if one.step is not None]
    if shown:
        say("What it did in a step:")
        say_command(run, "--step", str(shown[-1]), "--task", task)


def _show_conversation(run: RunFiles, place: str, row: RolloutRow) -> None:
    say(f"{_where(place, row)}: {plain(verdict(row))}", style="bold")
    page = run.trajectory(place, row.id, repeat=row.repeat)
    if page is not None:
        say(plain(page))
    elif row.failure is not None:
        say(plain(f"{row.failure.error_type} in {row.failure.stage}: {row.failure.message}"))


def _where(place: str, row: RolloutRow) -> str:
    """Return the place of a rollout; of several passes over it with one skill, which of them it is."""
    return plain(place) + (f", pass {row.repeat}" if row.repeat else "")


def _unknown(where: str, task: str, known: Iterable[str]) -> UsageError:
    ids = sorted(set(known))
    near = difflib.get_close_matches(task, ids, n=5, cutoff=0.5) or ids[:5]
    hint = f"Near it: {named(near)}." if near else "No task was measured there."
    return UsageError(f"task {plain(task)} did not come up in {where}", hint=hint)
