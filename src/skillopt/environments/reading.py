"""Reading values out of a target's text without repairing them: what a house format breaks stays broken."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable
from typing import NoReturn, TypeVar

from skillopt.types import JsonValue

ItemT = TypeVar("ItemT")


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

    Objects inside an object do not count by themselves. Damaged JSON is not mended. None where there is no object.
    """
    decoder = json.JSONDecoder(parse_constant=_refuse)
    found: dict[str, JsonValue] | None = None
    position = text.find("{")
    while position >= 0:
        try:
            found, position = decoder.raw_decode(text, position)
        except ValueError:
            position += 1
        except RecursionError:  # nested beyond any honest answer; looking on would take for ever
            return found
        position = text.find("{", position)
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
