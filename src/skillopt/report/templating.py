"""How pages of a run are made of templates: what the report and the live page have in common.

All text of a run is escaped where it is put in, by the template engine and never by hand, and loses its control
characters there. What a page shows is gathered elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from skillopt.report.course import ACCEPTED
from skillopt.report.live_words import said
from skillopt.text_files import plain
from skillopt.wording import counted, simulated_notice

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
_LONGEST_TEXT: Final = 4_000
"""Characters of one text of a task or a model that a page shows; the files have all of it."""
_REJECTED = frozenset(
    {"reject", "unmatched", "ambiguous", "protected", "invalid", "memorised", "vetted_out", "regressed"}
)
_TAKEN = frozenset({"applied", "improved", "updated", "stable_success", *ACCEPTED})


def page_environment(*directories: Path) -> Environment:
    """Return what makes pages of templates: every value escaped, a missing one an error.

    Args:
        directories: Where templates are besides the report's own, such as `parts.html.jinja`; they win.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader([*directories, _HERE / "templates"]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_without_control_characters,
    )
    environment.globals.update(_FUNCTIONS)
    environment.filters.update(_FILTERS)  # pyright: ignore[reportUnknownMemberType]
    return environment


def own_file(name: str) -> str:
    """Return a style sheet or a script of the report, such as `templates/report.css`."""
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


_FILTERS: Mapping[str, Callable[..., str]] = {
    "percent": _percent,
    "number": _number,
    "dollars": _dollars,
    "counted": counted,
    "cut": _cut,
    "tone": _tone,
    "sign": _sign,
    "words": said,
}
_FUNCTIONS: Mapping[str, Callable[..., str]] = {"simulated_notice": simulated_notice}
