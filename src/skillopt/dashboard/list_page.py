"""The list of runs."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.rendering import page_number, paged
from skillopt.dashboard.site import site_of


def list_page(request: Request) -> Response:
    """Return the page that lists the runs."""
    site = site_of(request)
    shown = paged(site.catalogue.runs(), page_number(request))
    return site.rendering.page(request, "list.html.jinja", title="Runs", runs=shown)
