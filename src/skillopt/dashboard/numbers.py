"""Numbers in addresses: what a segment or a query names, as a whole number or as nothing."""

from __future__ import annotations

from starlette.requests import Request

_LONGEST = 9
"""Digits; no run has as many steps, edits or repeats."""


def number(text: str) -> int | None:
    """Return a whole number from 0; None for any other text."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST else None


def number_in_query(request: Request, name: str, *, default: int) -> int | None:
    """Return the number that a query gives a word; `default` where it has no such word, None for what is no number."""
    return number(request.query_params.get(name, str(default)))
