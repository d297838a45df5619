"""Pages as responses: templates of this package over those of the report, and addresses with changed queries.

All that stands in a page is escaped by the template engine; no handler makes HTML by hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Generic, TypeVar
from urllib.parse import quote, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse

from skillopt import __version__
from skillopt.report.templating import page_environment

_HERE = Path(__file__).parent
_Item = TypeVar("_Item")

PAGE_SIZE: Final = 50
"""Rows of a table that one page shows."""


@dataclass(frozen=True, slots=True)
class Crumb:
    """One step of the way to a page: what it is called and its address."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Paged(Generic[_Item]):
    """A part of a long table.

    Attributes:
        items: What is shown.
        number: Of the page, from 1.
        pages: How many there are; at least 1.
        total: Items on all pages.
        first: Number of the first item that is shown, from 1; 0 where there is none.
    """

    items: Sequence[_Item]
    number: int
    pages: int
    total: int
    first: int

    @property
    def last(self) -> int:
        """Number of the last item that is shown."""
        return self.first + len(self.items) - 1 if self.items else 0


def paged(items: Sequence[_Item], number: int, *, size: int = PAGE_SIZE) -> Paged[_Item]:
    """Return one page of a table; a number beyond its ends is that of the nearest page."""
    pages = max(1, -(-len(items) // size))
    shown = min(max(1, number), pages)
    start = (shown - 1) * size
    return Paged(items[start : start + size], shown, pages, len(items), start + 1 if items else 0)


def page_number(request: Request) -> int:
    """Return the page that a query asks for; 1 where it names none."""
    asked = request.query_params.get("page", "")
    return int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 10 else 1


def with_query(request: Request, **changes: str | int | None) -> str:
    """Return the address of the same page with another query; None takes a word out of it."""
    asked = {**dict(request.query_params), **changes}
    asked.pop("token", None)
    query = urlencode({key: value for key, value in asked.items() if value not in (None, "")})
    return f"{quote(request.url.path)}?{query}" if query else quote(request.url.path)


def run_url(run_id: str, *places: str | int, **query: str | int | None) -> str:
    """Return the address of a run, or of a page below it; every part is one segment, whatever it holds.

    Args:
        run_id: The run.
        places: What follows it.
        query: What is asked for there, of any text; None leaves a word out.
    """
    path = "/".join(["/runs", *(quote(str(place), safe="") for place in (run_id, *places))])
    asked = urlencode({key: value for key, value in query.items() if value is not None}, errors="replace")
    return f"{path}?{asked}" if asked else path


class Rendering:
    """Makes pages of templates."""

    def __init__(self) -> None:
        self._templates = page_environment(_HERE / "templates")
        self._templates.filters.update(moment=_moment, iso=_iso)  # pyright: ignore[reportUnknownMemberType]
        known: dict[str, Any] = self._templates.globals
        known.update(version=__version__, with_query=with_query, run_url=run_url)
        for name in self._templates.list_templates():
            self._templates.get_template(name)  # All are there for good, also where no more files can be opened.

    def page(
        self,
        request: Request,
        template: str,
        *,
        title: str,
        crumbs: Sequence[Crumb] = (),
        status: int = 200,
        **values: object,
    ) -> HTMLResponse:
        """Return a whole page.

        Args:
            request: What asked for it.
            template: Name of a template that extends `base.html.jinja`.
            title: What the page is called, in its heading and in the browser; hostile text may be in it.
            crumbs: The way to it, the list of runs first; the page itself not among them.
            status: Of the response.
            values: What the template shows.
        """
        text = self.text(template, request=request, title=title, crumbs=crumbs, **values)
        return HTMLResponse(text, status_code=status)

    def text(self, template: str, **values: object) -> str:
        """Return a part of a page."""
        return self._templates.get_template(template).render(**values)


def _moment(seconds: float) -> str:
    """Return a clock reading as the clock on the wall shows it where the dashboard runs."""
    return _local(seconds).strftime("%Y-%m-%d %H:%M:%S")


def _iso(seconds: float) -> str:
    return _local(seconds).isoformat(timespec="seconds")


def _local(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC).astimezone()
