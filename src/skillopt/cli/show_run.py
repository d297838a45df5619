"""A whole run in a terminal: its end, its scores, each step in a line, and what may have kept it from improving."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from skillopt.cli.closing import show_scores
from skillopt.cli.progress import headline
from skillopt.cli.terminal import from_here, say, say_unbroken
from skillopt.errors import UsageError
from skillopt.events import EpochStageCommitted, StepCommitted
from skillopt.report.card import is_simulated
from skillopt.report.course import Record
from skillopt.report.end_words import ended
from skillopt.report.live_state import LiveRun
from skillopt.report.live_words import in_words
from skillopt.report.log_follower import LogFollower
from skillopt.report.page import findings_of
from skillopt.report.run_files import RunFiles
from skillopt.report.worth import worth
from skillopt.text_files import plain
from skillopt.wording import simulated_notice

MOST_IDS = 40
"""Ids of tasks that are named in one place."""


def show_run(run: RunFiles) -> None:
    """Print how a run ended, its scores, a line for each step, and the diagnosis.

    Raises:
        RunDirectoryError: If its files cannot be read.
    """
    summary = run.summary
    say(plain(run.name), style="bold")
    if is_simulated(run):
        say(simulated_notice())
    _show_end(summary, LogFollower(run.directory / "events.jsonl").look())
    if summary is not None and "selection" in summary:
        show_scores(summary)
        _show_worth(run)
    for record in run.records:
        _show_record(record)
    _show_diagnosis(run)
    _show_more(run)


def _show_more(run: RunFiles) -> None:
    """Name the commands that lead on: to the step that made the best skill, or else the last one."""
    if not run.records:
        return
    best: Record = run.last_record if run.summary is None else run.summary
    step = int(best.get("best_step") or run.last_record["step"])
    files = run.step(step)
    edits = files is not None and files.draw.edits
    say("\nA step, a task of it, an edit of it:" if edits else "\nA step, a task of it:")
    for more in ((), ("--task", "ID"), *((("--edit", "K"),) if edits else ())):
        say_command(run, "--step", str(step), *more)


def record_of(run: RunFiles, step: int) -> Record:
    """Return the record of a step.

    Raises:
        UsageError: If the run has no such step.
    """
    record = run.record(step)
    if record is not None:
        return record
    played = f"it has the steps 0 to {len(run.records) - 1}" if run.records else "not even its baseline was measured"
    raise UsageError(f"{plain(run.name)} has no step {step}", hint=f"So far {played}.")


def say_command(run: RunFiles, *words: str) -> None:
    """Print a command that shows more of a run, as it can be copied."""
    say_unbroken(f"  {plain(shlex.join(('skillopt', 'show', from_here(run.directory), *words)))}")


def named(ids: Sequence[str]) -> str:
    """Return ids of tasks in a row, as text; after many of them how many more there are."""
    more = f" and {len(ids) - MOST_IDS} more" if len(ids) > MOST_IDS else ""
    return ", ".join(plain(one) for one in ids[:MOST_IDS]) + more


def _show_end(summary: Record | None, known: LiveRun) -> None:
    """Say how the last start ended, or how far it is: the summary may be that of an earlier one."""
    if known.started is not None and known.ended is None:
        at_work = known.at_work
        stage = "" if at_work is None else f", at {plain(at_work.name)} {at_work.done}/{at_work.total or '?'}"
        place = f"step {known.step} of {known.total_steps}{stage}"
        say(f"not ended: still going, or killed, after {in_words(known.at - known.began)} in {place}", style="bold")
    elif summary is None:
        say("nothing has begun yet", style="bold")
    else:
        say(plain(ended(str(summary["state"]), str(summary["message"]))), style="bold")


def _show_worth(run: RunFiles) -> None:
    found = worth(run)
    if found is None:
        return
    say(found.headline, style="bold")
    if found.numbers:
        say(found.numbers)


def _show_record(record: Mapping[str, Any]) -> None:
    say(headline(StepCommitted(record)))
    for stage in ("slow_update", "meta_skill"):
        if isinstance(record.get(stage), dict):
            say(f"  {headline(EpochStageCommitted(stage, record['epoch'], record))}")


def _show_diagnosis(run: RunFiles) -> None:
    findings = findings_of(run)
    if findings:
        say("\nWhat limits this result:")
    for finding in findings:
        say(f"- {plain(finding.text)}\n  {plain(finding.advice)}")
