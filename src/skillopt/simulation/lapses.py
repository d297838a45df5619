"""Lapses of the simulated target, and what the simulated optimizer writes against them.

A lapse: the rule stands in the skill and the target does not follow it. No edit that states a rule helps there, since
it is stated already; a reminder makes the lapse rare. Only words stand here; when the target lapses is `target.py`'s.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from skillopt.simulation.records import plain
from skillopt.types import JsonValue

REMINDED_SHARE: Final = 0.1
"""Share of its lapses that a target has left where its skill holds a reminder."""

_CODE = r"[A-Z]{2}-[0-9]{2}"
_LAPSED = re.compile(rf"I did not keep to the house rule for ({_CODE})\b")
_REMINDER = re.compile(rf"Whatever comes up at ({_CODE}(?: or {_CODE})*), keep to its house rule\.")
_CODES_PER_NOTE = 8
"""Subjects that one reminder of a shortened appendix speaks of."""


def lapsing(code: str) -> str:
    """Return what a target says that lapsed."""
    return f"I did not keep to the house rule for {code}."


def lapsed_codes(text: str) -> tuple[str, ...]:
    """Return the subjects for which targets say in a text that they lapsed, each once, in order."""
    return tuple(dict.fromkeys(_LAPSED.findall(text)))


def reminder(codes: Sequence[str]) -> str:
    """Return a sentence that keeps a target from lapsing for some subjects."""
    return f"Whatever comes up at {' or '.join(codes)}, keep to its house rule."


def reminded_codes(text: str) -> tuple[str, ...]:
    """Return the subjects that the reminders of a text speak of, each once, in order."""
    found: Iterable[str] = _REMINDER.findall(plain(text))
    return tuple(dict.fromkeys(code for codes in found for code in codes.split(" or ")))


def notes_asked_for(text: str) -> dict[str, JsonValue]:
    """Return the reply's field of reminders, one for each lapse in a prompt; none where the prompt asks for none."""
    if "appendix_notes" not in text:
        return {}
    skill = text.partition("<skill>")[2].partition("</skill>")[0]
    known = reminded_codes(skill)
    return {"appendix_notes": [reminder([code]) for code in lapsed_codes(text) if code not in known]}


def consolidated(text: str) -> dict[str, JsonValue]:
    """Return the reply that writes the reminders of a prompt in fewer: several subjects in one sentence."""
    codes = reminded_codes(text)
    groups = [codes[start : start + _CODES_PER_NOTE] for start in range(0, len(codes), _CODES_PER_NOTE)]
    return {"reasoning": "One sentence for several (simulated).", "consolidated_notes": [*map(reminder, groups)]}
