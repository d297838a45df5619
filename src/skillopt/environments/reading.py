"""Reading values out of a target's text without repairing them: what a house format breaks stays broken."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable
from typing import NoReturn, TypeVar

from skillopt.types import JsonValue

ItemT = TypeVar("ItemT")

_OPENING = re.compile(r'\{(?=[ \t\n\r]*["}])')
"""Where an object may begin: the braces of a formula do not look like one."""

_MOST_WORK = 2_000_000
"""Characters that may be read in vain; far above what an honest reply costs."""

_AN_ERROR = 1000
"""What a beginning that leads to nothing costs besides, in characters read."""


def last(items: Iterable[ItemT]) -> ItemT | None:
    """Return the last of some items, such as matches; None where there are none."""
    kept = deque(items, maxlen=1)
    return kept[0] if kept else None


def parse_json(text: str) -> JsonValue:
    """Return the JSON value that a whole text is.

    Raises:
        ValueError: If it is none; NaN and the infinities are no JSON numbers.
    """
    return json.loads(text, parse_constant=_refuse)


def read_json_object(text: str) -> dict[str, JsonValue] | None:
    """Return the last JSON object that stands whole in a text, fenced or bare, with prose around it or not.

    Objects inside an object do not count by themselves. Damaged JSON is not mended. None where there is no object. A
    text whose many beginnings lead to none is looked at no further: each may cost a pass over all that follows it.
    """
    decoder = json.JSONDecoder(parse_constant=_refuse)
    found: dict[str, JsonValue] | None = None
    work = 0
    opening = _OPENING.search(text)
    while opening is not None and work < _MOST_WORK:
        end = opening.end()
        try:
            found, end = decoder.raw_decode(text, opening.start())
        except ValueError as error:
            # How far it was read; and an error counts the lines ahead of it.
            work += getattr(error, "pos", len(text)) - opening.start() + _AN_ERROR
        except RecursionError:  # nested beyond any honest answer; looking on would take for ever
            return found
        opening = _OPENING.search(text, end)
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
