"""Files of a run to take away: named in one table, sent as attachments, so that no browser shows or runs them."""

from __future__ import annotations

from collections.abc import Mapping
from threading import Lock
from typing import Final
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.site import not_found, site_of
from skillopt.report.html import REPORT_NAME, render
from skillopt.report.page import is_simulated, report_page
from skillopt.report.picture import PICTURE_NAME, draw, ending
from skillopt.report.reading import DirectoryReader
from skillopt.report.run_files import RunFiles
from skillopt.text_files import readable_name

FILES: Final[Mapping[str, str]] = {
    "best_skill.md": "text/markdown",
    "history.json": "application/json",
    "summary.json": "application/json",
    "ledger.csv": "text/csv",
    "config.yaml": "application/yaml",
}
"""Files that are sent as they are, with their types."""


def download(request: Request) -> Response:
    """Return a file of the run that the address names; the page and the picture are made of what there is now."""
    name = request.path_params["name"]
    site = site_of(request)
    entry = site.entry(request)
    if name == REPORT_NAME:
        page = report_page(site.catalogue.files(entry))
        content, kind = render(page).encode(), "text/html"
    elif name == PICTURE_NAME:
        content, kind = _picture(site.catalogue.files(entry), site.drawing), "image/png"
    else:
        content, kind = None, FILES.get(name, "")
        if kind:
            content = DirectoryReader(entry.directory).content(name)
    if content is None:
        raise not_found("This run has no such file, or not yet.")
    # The encoded form alone: a name may hold anything, and whoever reads the header must not be led astray by it.
    saved_as = quote(f"{readable_name(entry.name)}-{name}", safe="")
    disposition = f"attachment; filename*=UTF-8''{saved_as}"
    return Response(content, media_type=kind, headers={"Content-Disposition": disposition})


def _picture(files: RunFiles, drawing: Lock) -> bytes | None:
    if not files.records:
        return None
    with drawing:  # The plotting library draws one picture at a time.
        return draw(files.course, ending(files.course, files.summary), simulated=is_simulated(files))
