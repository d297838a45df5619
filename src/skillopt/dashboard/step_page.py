"""A step of a run, stage by stage, and one of its edits whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.numbers import number, number_in_query
from skillopt.dashboard.rendering import Crumb, run_url
from skillopt.dashboard.site import not_found, run_crumbs, run_of
from skillopt.report.course import Record
from skillopt.report.draws import diff_of_lines, draws
from skillopt.report.edit_effect import edit_effect
from skillopt.report.evaluations import evaluations_of_step
from skillopt.report.page import EpochPart, epoch_part
from skillopt.report.run_files import RunFiles
from skillopt.report.step_files import step_place
from skillopt.report.step_words import reflections, stages

_MOST_LINES: Final = 1_000
"""Lines of a candidate's difference that a step shows."""

_ROWS_SHOWN: Final = 20
"""Rollouts of the batch that a step shows; the evaluation's own page has all of them."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """What comes before and after a step in its run; None at an end."""

    before: int | None
    after: int | None


def step_page(request: Request) -> Response:
    """Return the page of the step that the address names; 0 is the baseline."""
    site, entry, files = run_of(request)
    step = _step(request, files)
    record = files.record(step) or {}
    shown = evaluations_of_step(files, step)
    batch = files.rollouts(shown[0].place) if shown else ()
    return site.rendering.page(
        request,
        "step.html.jinja",
        title=f"Step {step}" if step else "Baseline",
        crumbs=run_crumbs(entry),
        run=entry,
        step=step,
        record=record,
        stages=dict(stages(record)) if step and record else {},
        batch=batch[:_ROWS_SHOWN],
        batch_size=len(batch),
        draws=draws(files, step, record, most_lines=_MOST_LINES) if step else (),
        evaluations={one.place: one for one in shown},
        first=shown[0] if shown else None,
        epoch=_epoch(files, record),
        neighbours=_neighbours(files, step),
    )


def edit_page(request: Request) -> Response:
    """Return the page of one edit of a step, of the draw that counts or, by `draw`, of one that lost."""
    site, entry, files = run_of(request)
    step, asked = _step(request, files), number(request.path_params["edit"])
    record, which = files.record(step) or {}, number_in_query(request, "draw", default=0)
    found = draws(files, step, record, most_lines=_MOST_LINES) if step else ()
    if which is None or (which and which >= len(found)):
        raise not_found(f"Step {step} has no such draw. It has {max(0, len(found) - 1)} that lost.")
    edits = found[which].edits if found else ()
    if asked is None or not 1 <= asked <= len(edits):
        raise not_found(f"Step {step} has no such edit. It has {len(edits)}.")
    draw, edit, before = found[which], edits[asked - 1], files.skill(step - 1)
    lines = () if before is None else edit_effect(before, edits, asked - 1)
    batch = {row.id: row for row in files.rollouts(f"{step_place(step)}/rollout")}
    return site.rendering.page(
        request,
        "edit.html.jinja",
        title=f"Edit {asked}" + (f" of draw {which}" if which else ""),
        crumbs=[*run_crumbs(entry), Crumb(f"Step {step}", run_url(entry.id, "steps", step))],
        run=entry,
        step=step,
        which=which,
        number=asked,
        count=len(edits),
        edit=edit,
        draw=draw,
        effect=diff_of_lines(lines, most=_MOST_LINES),
        copies=draw.copies.get(asked - 1, ()),
        reflections=reflections(edit, draw.files.patches),
        batch=batch,
    )


def _step(request: Request, files: RunFiles) -> int:
    """Return the step that the address names; 404 where the run has none such."""
    step = number(request.path_params["step"])
    known = _steps(files)
    if step is None or step not in known:
        there = f"It has the steps 0 to {known[-1]} so far." if known else "It has no step yet."
        raise not_found(f"This run has no such step. {there}")
    return step


def _steps(files: RunFiles) -> list[int]:
    """Return the steps that have a record or left files, in their order."""
    return sorted({*files.steps, *(record["step"] for record in files.records)})


def _epoch(files: RunFiles, record: Record) -> EpochPart | None:
    """Return what followed the epoch that this step ended; None where nothing did."""
    return epoch_part(files, record["epoch"]) if record.get("slow_update") or record.get("meta_skill") else None


def _neighbours(files: RunFiles, step: int) -> Neighbours:
    known = _steps(files)
    at = known.index(step)
    return Neighbours(known[at - 1] if at else None, known[at + 1] if at + 1 < len(known) else None)
