"""What the optimizer was asked and what it said, word for word: the recorded prompts and replies of a run."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.numbers import number
from skillopt.dashboard.rendering import Crumb, page_number, paged, run_url
from skillopt.dashboard.site import not_found, run_crumbs, run_of
from skillopt.report.optimizer_calls import call, calls, sizes


def calls_page(request: Request) -> Response:
    """Return the page of all recorded replies, or of those of a step or a stage that the query names."""
    site, entry, files = run_of(request)
    step, stage = number(request.query_params.get("step", "")), request.query_params.get("stage", "")
    found = calls(files.directory, step=step)
    shown = paged([line for line in found if not stage or line.place.stage == stage], page_number(request))
    return site.rendering.page(
        request,
        "calls.html.jinja",
        title="Prompts and replies",
        crumbs=run_crumbs(entry),
        run=entry,
        calls=shown,
        sizes=sizes(files.directory, shown.items),
        asked={"step": "" if step is None else str(step), "stage": stage},
        stages={one: one.replace("_", " ") for one in dict.fromkeys(line.place.stage for line in found)},
    )


def call_page(request: Request) -> Response:
    """Return the page of one recorded reply with what it answers."""
    site, entry, files = run_of(request)
    found = call(files.directory, request.path_params["key"])
    if found is None:
        raise not_found("There is no such reply in this run.")
    place = found.line.place
    return site.rendering.page(
        request,
        "call.html.jinja",
        title=found.line.title,
        crumbs=[
            *run_crumbs(entry),
            Crumb(f"Step {place.step}", run_url(entry.id, "steps", place.step)),
            Crumb("Prompts and replies", run_url(entry.id, "calls", step=place.step)),
        ],
        run=entry,
        call=found,
    )
