"""The reducer over the event log: what the terminal and the live page know of a run, so that they cannot disagree.

A pure function: `follow` takes what is known and one event with its clock reading, and returns what is known then. It
reads no clock and no file; a log on disk is read by `report/event_reading.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Any, Final

from skillopt.events import (
    EpochStageCommitted,
    Event,
    RunEnded,
    RunStarted,
    Spent,
    StageProgress,
    StageStarted,
    StepCommitted,
    Warned,
)
from skillopt.report.course import StepVerdict, best_count, followed, step_point
from skillopt.report.live_state import EditLine, LiveRun, Stage, Standing
from skillopt.types import JsonValue

KEPT_EDITS: Final = 200
KEPT_WARNINGS: Final = 50


def follow(known: LiveRun, event: Event, *, at: float) -> LiveRun:
    """Return what is known after an event.

    Args:
        known: What was known before it.
        event: What happened.
        at: When, in seconds since 1970.

    Raises:
        KeyError, TypeError: If a record lacks what every record has.
    """
    known = replace(known, at=at)
    match event:
        case RunStarted():
            # Every start plays the loop from the beginning.
            return LiveRun(started=event, began=at, at=at, committed_at=at)
        case StageStarted():
            return _begin(known, event)
        case StageProgress():
            return _advance(known, event)
        case Spent():
            return replace(known, spent=event)
        case StepCommitted():
            return _commit(known, event)
        case EpochStageCommitted():
            points = (*known.points[:-1], step_point(event.record))
            return replace(_settled(known), points=points, standing=_standing(event.record))
        case Warned():
            warnings = (*known.warnings, event.message)[-KEPT_WARNINGS:]
            return replace(known, warnings=warnings, warned=known.warned + 1)
        case RunEnded():
            return replace(_settled(known), ended=event, standing=_in_the_end(known.standing, event.summary))


def follow_all(known: LiveRun, events: Iterable[tuple[Event, float]]) -> LiveRun:
    """Return what is known after several events, each with its clock reading."""
    for event, at in events:
        known = follow(known, event, at=at)
    return known


def _begin(known: LiveRun, event: StageStarted) -> LiveRun:
    """Begin a stage; one that begins again, for another draw, takes its place and drops those that had followed it."""
    same_step = (event.epoch, event.step) == (known.epoch, known.step) and not known.settled
    earlier = takewhile(lambda stage: stage.name != event.stage, known.stages if same_step else ())
    stages = (*(replace(stage, over=True) for stage in earlier), Stage(event.stage, known.at, total=event.total))
    return replace(known, epoch=event.epoch, step=event.step, stages=stages, settled=False)


def _advance(known: LiveRun, event: StageProgress) -> LiveRun:
    """Count what a stage has done; stages may overlap, so it need not be the last one that began."""
    return replace(known, stages=tuple(_counted(s, event) if s.name == event.stage else s for s in known.stages))


def _counted(stage: Stage, event: StageProgress) -> Stage:
    return replace(
        stage,
        done=event.done,
        total=event.total,
        outcomes={**stage.outcomes, event.outcome: stage.outcomes.get(event.outcome, 0) + 1},
        recorded=stage.recorded + event.recorded,
    )


def _settled(known: LiveRun) -> LiveRun:
    return replace(known, settled=True, stages=tuple(replace(stage, over=True) for stage in known.stages))


def _commit(known: LiveRun, event: StepCommitted) -> LiveRun:
    record = event.record
    points = followed(known.points, record)
    point, verdicts = points[-1], {one.step: one.verdict for one in points}
    earlier = (
        replace(line, verdict=verdicts[line.step]) if line.verdict == "waiting" else line for line in known.edits
    )
    edits = (_edit_line(point.step, edit, point.verdict) for edit in event.edits)
    paid = sum(known.spent.paid_calls.values()) if known.spent else 0
    was_paid = point.step > 0 and paid > known.committed_paid
    standing = _standing(record)
    return replace(
        _settled(known),
        points=points,
        baseline=known.baseline if point.step else standing,
        standing=standing,
        edits=(*earlier, *edits)[-KEPT_EDITS:],
        paid_steps=known.paid_steps + was_paid,
        paid_seconds=known.paid_seconds + was_paid * max(0.0, known.at - known.committed_at),
        committed_at=known.at,
        committed_paid=paid,
    )


def _edit_line(step: int, edit: Mapping[str, str], verdict: StepVerdict) -> EditLine:
    operation, status, text = (edit.get(name, "") for name in ("operation", "status", "text"))
    return EditLine(step, operation, status, text, verdict if status == "applied" else "not applied")


def _standing(record: Mapping[str, JsonValue]) -> Standing:
    fields: Mapping[str, Any] = record
    return Standing(
        metric=fields["gate_metric"],
        current=fields["current_score"],
        best=fields["best_score"],
        current_solved=fields["val_solved"],
        current_n=fields["val_n"],
        best_solved=fields["best_solved"],
        best_n=best_count(record),
        best_step=fields["best_step"],
        best_origin=fields["best_origin"],
    )


def _in_the_end(standing: Standing | None, summary: Mapping[str, Any]) -> Standing | None:
    """Return how the skills stand where the best one may have been chosen anew after the last step."""
    if standing is None or summary.get("best_origin") is None:
        return standing
    return replace(
        standing,
        best=summary["best_gate_score"],
        best_solved=summary["best_gate_solved"],
        best_n=summary["best_gate_n"],
        best_step=summary["best_step"],
        best_origin=summary["best_origin"],
    )
