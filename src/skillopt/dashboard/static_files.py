"""Style sheets, scripts and the icon: files of this package alone, named in one table, read once."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from skillopt.dashboard.site import not_found
from skillopt.report.templating import own_file

_HERE = Path(__file__).parent

_OF_THE_REPORT: Final = {
    "report.css": "templates/report.css",
    "report.js": "templates/report.js",
    "uPlot.min.css": "vendored/uPlot.min.css",
    "uPlot.iife.min.js": "vendored/uPlot.iife.min.js",
}
_OWN: Final = {
    "dashboard.css": "static/dashboard.css",
    "dashboard.js": "static/dashboard.js",
    "walk.css": "static/walk.css",
    "compare.js": "static/compare.js",
    "icon.svg": "static/icon.svg",
    "htmx.min.js": "vendored/htmx.min.js",
    "hx-sse.min.js": "vendored/hx-sse.min.js",
}
_TYPES: Final = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def static_file(request: Request) -> Response:
    """Return a file that pages are made with."""
    name = request.path_params["name"]
    if name not in _OWN and name not in _OF_THE_REPORT:
        raise not_found("There is no such file.")
    content = _content(name)
    tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    # Asked for at every page, sent once: another version of the package has other files under the same names.
    headers = {"Cache-Control": "no-cache", "ETag": tag}
    if request.headers.get("If-None-Match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(content, media_type=_TYPES[Path(name).suffix], headers=headers)


@cache
def _content(name: str) -> bytes:
    text = own_file(_OF_THE_REPORT[name]) if name in _OF_THE_REPORT else (_HERE / _OWN[name]).read_text("utf-8")
    return text.encode()
