"""The page of a run: what the terminal shows of it, live, and below that its steps and what it came to."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypedDict, cast

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.catalogue import RunEntry, stamps_of
from skillopt.dashboard.channel import Channel, News, stream
from skillopt.dashboard.downloads import offered
from skillopt.dashboard.live_part import LivePart, live_part
from skillopt.dashboard.rendering import Paged, page_number, paged
from skillopt.dashboard.site import Site, list_crumb, run_crumbs, run_of, site_of
from skillopt.errors import RunDirectoryError
from skillopt.report.card import run_card
from skillopt.report.charts import chart_data
from skillopt.report.course import Course, Record, StepPoint
from skillopt.report.diagnosis import Finding
from skillopt.report.end_words import after_the_last_step
from skillopt.report.page import SplitPart, epochs_of, findings_of, splits_of
from skillopt.report.run_files import RunFiles
from skillopt.report.spending import stages, totals
from skillopt.types import JsonValue


@dataclass(frozen=True, slots=True)
class StepRow:
    """A step in a row of the table: its place in the course and its record."""

    point: StepPoint
    record: Record


@dataclass(frozen=True, slots=True)
class Below:
    """What the page shows below its live part.

    Attributes:
        message: How the last start ended, or what to do; "" while no end is recorded.
        splits: Seed and best skill on the selection and the test split.
        remarks: Which fresh passes the scores were counted from.
        findings: What limits the result.
        has_epochs: Whether a slow update or a meta skill left files.
        course: Scores over steps; None before the baseline.
        charts: The numbers of the charts.
        steps: A page of the steps, the newest first: of a run that goes on, that is what one looks for.
    """

    message: str
    splits: tuple[SplitPart, ...]
    remarks: tuple[str, ...]
    findings: tuple[Finding, ...]
    has_epochs: bool
    course: Course | None
    charts: Mapping[str, JsonValue] | None
    steps: Paged[StepRow] | None


def run_page(request: Request) -> Response:
    """Return the page of a run; where its files are damaged, it says so below the live part."""
    site = site_of(request)
    entry = site.entry(request)
    below, trouble = None, None
    try:
        below = _below(site.catalogue.files(entry), page_number(request))
    except RunDirectoryError as error:
        trouble = error
    return site.rendering.page(
        request,
        "run.html.jinja",
        title=entry.name,
        crumbs=[list_crumb()],
        run=entry,
        below=below,
        trouble=trouble,
        downloads=offered(entry.directory, measured=below is not None and below.course is not None),
        **_live(site, entry),
    )


def run_events(request: Request) -> Response:
    """Return the stream that sends the live part of the page, and says when the rest has changed."""
    site = site_of(request)
    entry = site.entry(request)
    channel = site.channels.get_or_make(f"run {entry.id}", lambda: Channel(lambda: _look(site, entry)))
    return stream(request, channel, site.closing)


def epochs_page(request: Request) -> Response:
    """Return what followed each epoch: slow updates with what they changed, and the optimizer's memory."""
    site, entry, files = run_of(request)
    return site.rendering.page(
        request,
        "epochs.html.jinja",
        title="Between epochs",
        crumbs=run_crumbs(entry),
        run=entry,
        epochs=paged(epochs_of(files), page_number(request), size=5),
        wanted=_wants_something_between_epochs(files),
    )


def spending_page(request: Request) -> Response:
    """Return what a run used and paid, by role and stage."""
    site, entry, files = run_of(request)
    return site.rendering.page(
        request,
        "spending.html.jinja",
        title="Spending",
        crumbs=run_crumbs(entry),
        run=entry,
        totals=tuple(totals(files)),
        stages=tuple(stages(files.summary or {})),
    )


def card_page(request: Request) -> Response:
    """Return the run card: what is needed to repeat a run."""
    site, entry, files = run_of(request)
    return site.rendering.page(
        request,
        "card.html.jinja",
        title="Run card",
        crumbs=run_crumbs(entry),
        run=entry,
        card=run_card(files),
        config=files.config or "",
    )


def _below(files: RunFiles, page: int) -> Below:
    course = files.course if files.records else None
    rows = () if course is None else [StepRow(*pair) for pair in zip(course.points, files.records, strict=True)]
    return Below(
        message=str((files.summary or {}).get("message", "")),
        splits=tuple(splits_of(files)),
        remarks=tuple(after_the_last_step(files.summary or {})),
        findings=findings_of(files),
        has_epochs=bool(files.epochs),
        course=course,
        charts=None if course is None else chart_data(course),
        steps=paged(rows[::-1], page) if rows else None,
    )


def _wants_something_between_epochs(files: RunFiles) -> bool:
    asked: object = files.settings.get("optimizer")
    return not isinstance(asked, dict) or any(
        cast("Record", asked).get(name) is not False for name in ("use_slow_update", "use_meta_skill")
    )


class _Live(TypedDict):
    live: LivePart | None
    live_trouble: RunDirectoryError | None


def _live(site: Site, entry: RunEntry) -> _Live:
    """Return the live part of the page, as it stands, or why it cannot be read."""
    try:
        return {"live": live_part(site.followers.look(entry), now=time.time()), "live_trouble": None}
    except RunDirectoryError as error:
        return {"live": None, "live_trouble": error}


def _look(site: Site, entry: RunEntry) -> News:
    html = site.rendering.text("live.html.jinja", **_live(site, entry))
    return News(html, repr(stamps_of(entry.directory)))
