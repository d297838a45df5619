"""How long it takes from an event of a training to the page that follows it."""

from __future__ import annotations

import re
import statistics
import time
from pathlib import Path

import aiohttp

from benchmarks.dashboard.serving import serving
from benchmarks.dashboard.visiting import visit
from skillopt.events import RunEnded, Warned
from skillopt.run.event_log import EventLog
from skillopt.run.lock import locked

RUN = "run-001"
EVENTS = 9

_MOST_BYTES = 2**24
"""Of one message to a page."""


async def updates(directory: Path) -> float:
    """Return the seconds from an event until a page of the run, and the server with all other runs, has it.

    The run is one of the directory's; it goes on for as long as this lasts, and is then as it was.
    """
    run = directory / RUN
    log = run / "events.jsonl"
    before = log.read_bytes()
    try:
        log.write_bytes(b"".join(line for line in before.splitlines(True) if RunEnded.__name__.encode() not in line))
        with locked(run, command="train"), serving(directory) as served, EventLog(log) as events:
            async with aiohttp.ClientSession(read_bufsize=_MOST_BYTES) as session:
                page, _ = await visit(session, f"{served.address}/runs/{RUN}")
                path = re.findall(r'sse[:-]connect="([^"]+)"', page)[0]
                return await _followed(session, served.address + path, events)
    finally:
        log.write_bytes(before)


async def _followed(session: aiohttp.ClientSession, address: str, events: EventLog) -> float:
    took: list[float] = []
    async with session.get(address) as stream:
        assert stream.status == 200, await stream.text()
        await stream.content.readuntil(b"\n\n")  # what is known when a page begins to follow
        for number in range(EVENTS):
            mark = f"warning {number} of the benchmark"
            began = time.perf_counter()
            events.emit(Warned(mark))
            while mark.encode() not in await stream.content.readuntil(b"\n\n"):
                pass
            took.append(time.perf_counter() - began)
    return statistics.median(took)
