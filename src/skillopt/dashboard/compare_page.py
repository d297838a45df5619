"""Several runs side by side: settings that differ, scores over steps, what each came to, flips against the first."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.catalogue import RunEntry
from skillopt.dashboard.rendering import Crumb
from skillopt.dashboard.site import Site, list_crumb, not_found, site_of
from skillopt.report.card import is_simulated
from skillopt.report.charts import drawn_percent
from skillopt.report.run_difference import SplitDifference, setting_differences, split_difference, standing
from skillopt.report.run_files import RunFiles
from skillopt.types import JsonValue

FEWEST, MOST = 2, 8
"""Runs that can be compared at once: as many as there are colours that can be told apart."""

_MISSING: Final = "-"


@dataclass(frozen=True, slots=True)
class Compared:
    """One of the runs: a letter for it, its entry, and its scores over steps, in percent by its gate's metric."""

    letter: str
    entry: RunEntry
    steps: tuple[int, ...]
    current: tuple[float, ...]
    metric: str


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a table with a column for each run: its head, and a text for each run."""

    head: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Against:
    """A run against the first one: the tasks on which their best skills differ, split by split."""

    letter: str
    entry: RunEntry
    splits: tuple[SplitDifference, ...]


def compare_page(request: Request) -> Response:
    """Return the page that compares the runs that the query names; with fewer than two, the choice of them."""
    site = site_of(request)
    chosen = list(dict.fromkeys(request.query_params.getlist("run")))
    if len(chosen) < FEWEST:
        return _choice(request, site, chosen, "")
    if len(chosen) > MOST:
        return _choice(request, site, chosen, f"{len(chosen)} runs are too many to look at at once.")
    entries = [site.catalogue.find(run) for run in chosen]
    there = [entry for entry in entries if entry is not None]
    if len(there) < len(entries):
        raise not_found("One of these runs is not here. It may have been moved or removed.")
    files = [site.catalogue.files(entry) for entry in there]
    compared = [_compared(at, entry, run) for at, (entry, run) in enumerate(zip(there, files, strict=True))]
    return site.rendering.page(
        request,
        "compare.html.jinja",
        title=f"{len(files)} runs compared",
        crumbs=[list_crumb(), Crumb("Compare runs", "/compare")],
        runs=site.catalogue.runs(),
        compared=compared,
        simulated=[one.letter for one, run in zip(compared, files, strict=True) if is_simulated(run)],
        settings=[Line(one.key, tuple(_value(value) for value in one.values)) for one in setting_differences(*files)],
        standings=_standings(files),
        against=[
            Against(
                one.letter,
                one.entry,
                tuple(
                    found for part in ("val", "test") if (found := split_difference(files[0], run, part)) is not None
                ),
            )
            for one, run in zip(compared[1:], files[1:], strict=True)
        ],
        numbers=_numbers(compared),
    )


def _choice(request: Request, site: Site, chosen: Sequence[str], trouble: str) -> Response:
    return site.rendering.page(
        request,
        "choose.html.jinja",
        title="Compare runs",
        crumbs=[list_crumb()],
        runs=site.catalogue.runs(),
        chosen=chosen,
        trouble=trouble,
        fewest=FEWEST,
        most=MOST,
    )


def _compared(at: int, entry: RunEntry, run: RunFiles) -> Compared:
    points = run.course.points if run.records else ()
    return Compared(
        "ABCDEFGH"[at],
        entry,
        tuple(point.step for point in points),
        tuple(drawn_percent(point.current) for point in points),
        run.course.metric if run.records else "",
    )


def _standings(runs: Sequence[RunFiles]) -> list[Line]:
    found = [standing(run) for run in runs]
    return [
        Line(head, tuple(one.get(head, _MISSING) for one in found))
        for head in dict.fromkeys(h for o in found for h in o)
    ]


def _value(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _numbers(compared: Sequence[Compared]) -> dict[str, JsonValue]:
    """Return the numbers of the chart, one list a run and a number or null for each step: no word of any data.

    The steps are those that some run has: how many there are is not left to a number in a file.
    """
    steps = sorted({0, *(step for one in compared for step in one.steps)})
    lines: list[JsonValue] = []
    for one in compared:
        known = dict(zip(one.steps, one.current, strict=True))
        lines.append([known.get(step) for step in steps])
    return {
        "steps": [*steps],
        "letters": [one.letter for one in compared],
        "current": lines,
    }
