"""From what a page shows to one HTML file that needs nothing else: no network, no other file, no script but ours.

All text of a run is escaped where it is put in, by the template engine and never by hand, and loses its control
characters there. A content-security policy stands in the page besides: only the two scripts whose digests it names can
run, and nothing can be loaded, sent or framed.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from skillopt import __version__
from skillopt.report.course import ACCEPTED
from skillopt.report.page import ReportPage
from skillopt.text_files import plain

REPORT_NAME = "report.html"
"""The page of a run, in its directory."""

_HERE = Path(__file__).parent
_LONGEST_TEXT: Final = 4_000
"""Characters of one text of a task or a model that the page shows; the files have all of it."""
_REJECTED = frozenset(
    {"reject", "unmatched", "ambiguous", "protected", "invalid", "memorised", "vetted_out", "regressed"}
)
_TAKEN = frozenset({"applied", "improved", "updated", "stable_success", *ACCEPTED})


def render(page: ReportPage) -> str:
    """Return a page as HTML: the same bytes for the same values."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_control_characters,
    )
    environment.filters.update(_FILTERS)  # pyright: ignore[reportUnknownMemberType]
    styles = [_own("vendored/uPlot.min.css"), _own("templates/report.css")]
    scripts = [_own("vendored/uPlot.iife.min.js"), _own("templates/report.js")] if page.charts else []
    return environment.get_template("report.html.jinja").render(
        page=page,
        version=__version__,
        policy=policy(styles, scripts),
        # Files of this package alone; text of a run never takes this way.
        styles=[Markup(style) for style in styles],
        scripts=[Markup(script) for script in scripts],
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


def _own(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _without_control_characters(value: Any) -> Any:
    """Return a text as it can be looked at; what is markup of this package already stays as it is."""
    return plain(value) if type(value) is str else value


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f} %"


def _number(count: int | None) -> str:
    return "" if count is None else f"{count:,}"


def _dollars(amount: float | None) -> str:
    return "unknown" if amount is None else f"${amount:,.4f}" if 0 < amount < 0.1 else f"${amount:,.2f}"


def _cut(text: str, most: int = _LONGEST_TEXT) -> str:
    return text if len(text) <= most else f"{text[:most]}\n... {len(text) - most:,} more characters"


def _tone(word: str) -> str:
    """Return how a word of the gate or of an edit's end is coloured; the word itself always stands beside it."""
    return "good" if word in _TAKEN else "bad" if word in _REJECTED else "quiet"


def _sign(word: str) -> str:
    return {"good": "\N{CHECK MARK}", "bad": "\N{MULTIPLICATION X}", "quiet": "\N{MIDDLE DOT}"}[_tone(word)]


def _words(name: str) -> str:
    return name.replace("_", " ")


_FILTERS: Mapping[str, Callable[..., str]] = {
    "percent": _percent,
    "number": _number,
    "dollars": _dollars,
    "cut": _cut,
    "tone": _tone,
    "sign": _sign,
    "words": _words,
}
