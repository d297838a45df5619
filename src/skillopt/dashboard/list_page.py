"""The list of runs: sorted, filtered by text and by state, paged; it changes while runs go on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.channel import Channel, News, stream
from skillopt.dashboard.glances import Glance
from skillopt.dashboard.rendering import page_number, paged
from skillopt.dashboard.site import Site, site_of
from skillopt.run.outcome import EndState

_LEAST: Final = float("-inf")

ORDERS: Final[Mapping[str, Callable[[Glance], Any]]] = {
    "when": lambda one: one.at,
    "name": lambda one: one.entry.name.casefold(),
    "state": lambda one: one.state,
    "gain": lambda one: _LEAST if one.gain is None else one.gain,
    "cost": lambda one: _LEAST if one.dollars is None else one.dollars,
}
"""What the list can be sorted by."""

STATES: Final = ("running", "starting", "broken off", "damaged", *(end.value for end in EndState))
"""Every word for where a run stands, for the filter: those at work first."""

_BIGGEST_FIRST: Final = frozenset({"when", "gain", "cost"})
"""Orders that begin with the newest, the best and the dearest."""


def list_page(request: Request) -> Response:
    """Return the page that lists the runs."""
    site = site_of(request)
    everything = [site.glances.look(entry) for entry in site.catalogue.runs()]
    query = request.query_params
    text, state, order = query.get("text", ""), query.get("state", ""), query.get("sort", "")
    name, backwards = order.removeprefix("-"), order.startswith("-")
    if name not in ORDERS:
        name, backwards = "when", False
    found = chosen(everything, text=text, state=state, order=name, backwards=backwards)
    return site.rendering.page(
        request,
        "list.html.jinja",
        title="Runs",
        runs=paged(found, page_number(request)),
        everything=len(everything),
        states=STATES,
        text=text,
        state=state,
        order=name,
        backwards=backwards,
        directory=str(site.catalogue.directory.name),
    )


def chosen(everything: list[Glance], *, text: str, state: str, order: str, backwards: bool) -> list[Glance]:
    """Return the runs whose name holds a text and that stand in a state, in an order; equal ones by name."""
    found = [
        one
        for one in sorted(everything, key=ORDERS["name"])
        if text.casefold() in one.entry.name.casefold() and state in ("", one.state)
    ]
    return sorted(found, key=ORDERS[order], reverse=backwards != (order in _BIGGEST_FIRST))


def list_events(request: Request) -> Response:
    """Return the stream that says when the list has changed."""
    site = site_of(request)
    return stream(request, site.channels.get_or_make("list", lambda: Channel(lambda: _look(site))), site.closing)


def _look(site: Site) -> News:
    return News("", repr([site.glances.look(entry) for entry in site.catalogue.runs()]))
