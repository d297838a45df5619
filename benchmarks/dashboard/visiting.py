"""Visits to the pages of one live page, and how long each takes."""

from __future__ import annotations

import html
import re
import statistics
import time
from dataclasses import dataclass

import aiohttp

from benchmarks.dashboard.serving import Serving

VISITS = 9


@dataclass(frozen=True)
class Visited:
    """What visits to one page took.

    Attributes:
        first: Seconds of the first visit, when nothing of the run had been read.
        again: Seconds of the visits after it, the median.
        size: Bytes of the page.
    """

    first: float
    again: float
    size: int


async def visit(session: aiohttp.ClientSession, address: str) -> tuple[str, float]:
    """Return a page and the seconds until it was there."""
    began = time.perf_counter()
    async with session.get(address) as response:
        text = await response.text()
        took = time.perf_counter() - began
        assert response.status == 200, f"{address}: {response.status}\n{text[:2000]}"
        return text, took


async def visits(session: aiohttp.ClientSession, address: str) -> Visited:
    """Visit a page several times."""
    text, first = await visit(session, address)
    again = [(await visit(session, address))[1] for _ in range(VISITS)]
    return Visited(first, statistics.median(again), len(text.encode()))


async def link(session: aiohttp.ClientSession, served: Serving, page: str, pattern: str) -> str:
    """Return the address of the last link on a page that matches a pattern.

    Args:
        session: What asks.
        served: Whose page.
        page: Its path.
        pattern: Of the link's path.
    """
    text, _ = await visit(session, served.address + page)
    found = [html.unescape(path) for path in re.findall(r'href="([^"]+)"', text)]
    matching = [path for path in found if re.fullmatch(pattern, path)]
    assert matching, f"{page}: no link is like {pattern}; there are {found}"
    return matching[-1]
