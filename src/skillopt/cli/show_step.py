"""A step in a terminal: what its stages made, its edits, the gate's verdict; and one of its edits whole."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text

from skillopt.cli.progress import headline
from skillopt.cli.show_run import named, readable, record_of, say_command
from skillopt.cli.terminal import new_table, say, say_unbroken, show_table
from skillopt.errors import UsageError
from skillopt.events import StepCommitted
from skillopt.report.course import Record
from skillopt.report.end_words import counted
from skillopt.report.flips import Flips
from skillopt.report.run_files import RunFiles
from skillopt.report.step_files import DrawFiles, Rows, StepFiles
from skillopt.report.step_words import reflections, stages, verdict
from skillopt.report.stored_rows import EditOutcomeRow, PatchRow
from skillopt.text_files import plain

_LONGEST_TEXT = 70
"""Characters of an edit in the list of a step's edits."""


def show_step(run: RunFiles, step: int) -> None:
    """Print a step: stages, edits, the gate's verdict, and the tasks that its candidate fixed and broke.

    Args:
        run: The run.
        step: From 1; 0 is the baseline.

    Raises:
        UsageError: If the run has no such step.
        RunDirectoryError: If its files cannot be read.
    """
    record = record_of(run, step)
    with readable(run):
        say(headline(StepCommitted(record)), style="bold")
        if step == 0:
            _show_tasks("selection split", run.rollouts("selection_eval_baseline"))
            return
        table = new_table("stage", "what it made")
        for stage, made in stages(record):
            table.add_row(stage, plain(made))
        show_table(table)
        files = run.step(step)
        if files is not None:
            for number, (lost, draw) in enumerate(zip(record.get("redraws") or (), files.lost, strict=False), start=1):
                say(f"draw {number}, which lost: {plain(str(lost['action']))}, {plain(str(lost['reason']))}")
                _show_edits(draw)
            if files.lost:
                say("the draw that counts:")
            _show_edits(files.draw)
            _show_tasks("training batch", files.rollout)
        _show_flips(run.flips(step))
        say("\nMore of it:")
        say_command(run, "--step", str(step), "--task", "ID")
        for words, draw in () if files is None else _draws(files):
            if draw.edits:
                say_command(run, "--step", str(step), *words, "--edit", "K")


def show_edit(run: RunFiles, step: int, number: int, *, draw: int = 0) -> None:
    """Print an edit: its whole text, where it came from, and what became of it.

    Args:
        run: The run.
        step: From 1.
        number: As `show_step` numbers the edits of a draw, from 1.
        draw: From 1 for a draw that lost ahead of the one that counts, which is 0.

    Raises:
        UsageError: If there is no such edit.
        RunDirectoryError: If the step's files cannot be read.
    """
    record = record_of(run, step)
    files = run.step(step)
    edit = None if files is None else _edit_of(files, number, draw=draw)
    if files is None or edit is None:
        of_draw = f" of draw {draw}" if draw else ""
        raise UsageError(f"step {step} has no edit {number}{of_draw}", hint=_edits_there(files))
    with readable(run):
        lost: Sequence[Record] = record.get("redraws") or ()
        told = {0: record, **dict(enumerate(lost, start=1))}[draw]
        of = _draws(files)[draw][1]
        which = f"draw {draw}, which lost, of step {step}" if draw else f"step {step}"
        say(f"edit {number} of {which}: {_end(edit)}", style="bold")
        source = f", from a {edit.source_type}" if edit.source_type else ""
        say(plain(f"{edit.op}{source}, stands for {counted(edit.support_count, 'proposal')}"))
        for name, text in (("target", edit.target), ("content", edit.content)):
            if text:
                say(f"\n{name}:")
                say_unbroken(_indented(text))
        _show_origin(edit, of.patches, files.rollout)
        if edit.vetting is not None:
            after = "not all measured" if edit.vetting.after is None else f"{edit.vetting.after:g}"
            say(f"\ntried alone on {named(edit.vetting.task_ids)}: {edit.vetting.before:g} -> {after}")
        if edit.status != "applied":
            say("\nit is not in the candidate")
            return
        judged = "draw" if draw else "step"
        say(f"\nthe gate on all edits of the {judged}: {plain(str(told['action']))}, {plain(str(told['reason']))}")
        _show_flips(run.flips(step, draw=draw))


def _draws(files: StepFiles) -> tuple[tuple[tuple[str, ...], DrawFiles], ...]:
    """Return the draws of a step, the one that counts first, each behind the words of a command that name it."""
    lost = enumerate(files.lost, start=1)
    return (((), files.draw), *((("--draw", str(number)), draw) for number, draw in lost))


def _edit_of(files: StepFiles, number: int, *, draw: int) -> EditOutcomeRow | None:
    draws = _draws(files)
    edits = draws[draw][1].edits if draw < len(draws) else ()
    return edits[number - 1] if number <= len(edits) else None


def _edits_there(files: StepFiles | None) -> str:
    """Return which edits there are, by the words that name them."""
    there = [(words, len(draw.edits)) for words, draw in (() if files is None else _draws(files)) if draw.edits]
    named_so = [" ".join((*words, "--edit", "1" if count == 1 else f"1 to {count}")) for words, count in there]
    return f"There are: {', '.join(named_so)}." if named_so else "It has none."


def _show_edits(draw: DrawFiles) -> None:
    edits = draw.edits
    if edits:
        table = new_table("edit", "how it ended", "operation", "text", "from tasks", right=frozenset({"edit"}))
        for number, edit in enumerate(edits, start=1):
            text = " ".join((edit.content or edit.target)[: 4 * _LONGEST_TEXT].split())
            short = text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 3]}..."
            table.add_row(str(number), _end(edit), plain(edit.op), Text(plain(short)), Text(named(edit.task_ids)))
        show_table(table)
    for number, one in enumerate(draw.rewrites, start=1):
        told = ". ".join(part for part in (one.status, one.detail, "; ".join(one.change_summary)) if part)
        say(plain(f"rewrite {number}: {told}"))
    for note in draw.notes.notes:
        say(plain(f"reminder: {note.status}: {note.note}"))
    for reply in draw.dropped_replies:
        say(plain(f"dropped reply of {reply.stage} {reply.index}: {reply.reason}"))


def _end(edit: EditOutcomeRow) -> str:
    detail = f" ({edit.detail})" if edit.detail else ""
    return plain(f"{edit.status}{' after a repair' if edit.repaired else ''}{detail}")


def _show_origin(edit: EditOutcomeRow, patches: Sequence[PatchRow], rollout: Rows) -> None:
    """Say which tasks and which reflections an edit came from; after a merge, those that speak of one of its tasks."""
    states = {row.id: verdict(row) for row in rollout}
    say("\ncame from:")
    for task in edit.task_ids:
        say(f"  {plain(task)}: {plain(states.get(task, 'not in this batch'))}")
    for patch in reflections(edit, patches):
        say(plain(f"  {patch.source_type} reflection on {named(patch.task_ids)}: {patch.reasoning}"))


def _show_flips(flips: Flips | None) -> None:
    if flips is None:
        return
    say(
        f"\nselection tasks, candidate against the skill that it had to beat: {flips.same} the same"
        + (f", {flips.open} open" if flips.open else "")
    )
    for name, changed in (("fixed", flips.fixed), ("broken", flips.broken)):
        say(f"  {name} {len(changed)}: {named([flip.task_id for flip in changed]) or 'none'}")


def _show_tasks(name: str, rows: Rows) -> None:
    groups = (
        ("solved", [row.id for row in rows if row.hard == 1]),
        ("failed", [row.id for row in rows if row.hard == 0]),
        ("not measured", [row.id for row in rows if not row.measured]),
    )
    say(f"\n{name}:")
    for word, ids in groups:
        if ids:
            say(f"  {word} {len(ids)}: {named(ids)}")


def _indented(text: str) -> str:
    return "\n".join(f"  | {line}" for line in plain(text).splitlines())
