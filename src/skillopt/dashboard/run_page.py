"""The page of a run."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.site import list_crumb, site_of


def run_page(request: Request) -> Response:
    """Return the page of the run that the address names."""
    site = site_of(request)
    entry = site.entry(request)
    files = site.catalogue.files(entry)
    course = files.course if files.records else None
    return site.rendering.page(
        request, "run.html.jinja", title=entry.name, crumbs=[list_crumb()], run=entry, course=course
    )
