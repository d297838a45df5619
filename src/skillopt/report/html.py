"""From what a page shows to one HTML file that needs nothing else: no network, no other file, no script but ours.

All text of a run is escaped where it is put in (`report/templating.py`). A content-security policy stands in the page
besides: only the two scripts whose digests it names can run, and nothing can be loaded, sent or framed.
"""

from __future__ import annotations

import base64
import hashlib

from skillopt import __version__
from skillopt.report.page import ReportPage
from skillopt.report.templating import own_file, page_environment

REPORT_NAME = "report.html"
"""The page of a run, in its directory."""


def render(page: ReportPage) -> str:
    """Return a page as HTML: the same bytes for the same values."""
    from markupsafe import Markup

    styles = [own_file("vendored/uPlot.min.css"), own_file("templates/report.css")]
    scripts = [own_file("vendored/uPlot.iife.min.js"), own_file("templates/report.js")] if page.charts else []
    return (
        page_environment()
        .get_template("report.html.jinja")
        .render(
            page=page,
            version=__version__,
            policy=policy(styles, scripts),
            # Files of this package alone; text of a run never takes this way.
            styles=[Markup(style) for style in styles],
            scripts=[Markup(script) for script in scripts],
        )
    )


def policy(styles: list[str], scripts: list[str]) -> str:
    """Return the content-security policy that allows these inline styles and scripts and nothing else."""

    def allowed(texts: list[str]) -> str:
        digests = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"

    return (
        f"default-src 'none'; script-src {allowed(scripts)}; style-src {allowed(styles)}; base-uri 'none'; "
        "form-action 'none'"
    )
