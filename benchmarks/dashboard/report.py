"""`python -m benchmarks dashboard`: what each page of the live page takes, against the same page of a tenth of it."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp

from benchmarks.dashboard.building import Built, build
from benchmarks.dashboard.live import updates
from benchmarks.dashboard.serving import Serving, serving
from benchmarks.dashboard.visiting import Visited, link, visits

OF_MANY = ("list", "last page of the list", "run", "step", "skill", "calls", "compare")
"""Pages that are measured over a hundred runs of 200 steps."""
OF_LARGE = ("run", "step", "tasks", "last page of the tasks", "task", "evaluation", "trajectory")
"""Pages that are measured over one run with 15,000 rollouts."""


@dataclass(frozen=True)
class Pair:
    """A page over much, and the same page over a tenth of it."""

    name: str
    large: Visited
    small: Visited

    def shown(self) -> str:
        """One line."""
        first, again = self.large.first / self.small.first, self.large.again / self.small.again
        return (
            f"  {self.name}: {again:.1f} times ({1000 * self.large.again:.0f} / {1000 * self.small.again:.0f} ms), "
            f"at the first visit {first:.1f} times ({1000 * self.large.first:.0f} / {1000 * self.small.first:.0f} ms), "
            f"{self.large.size / 1000:.0f} / {self.small.size / 1000:.0f} kB"
        )


def main(arguments: Sequence[str]) -> int:
    """Build the runs where they are not there yet, and print a line for each page."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks dashboard", description=__doc__)
    parser.add_argument("--runs", type=Path, metavar="DIR", help="where the runs are kept, and found the next time")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        directory = given.runs or Path(folder)
        directory.mkdir(parents=True, exist_ok=True)
        asyncio.run(_report(build(directory)))
    return 0


async def _report(built: Built) -> None:
    print("\nEach page against the same page over a tenth: visited again, and at the first visit.")
    await compare("100 runs of 200 steps, against 10 of 20", OF_MANY, built.many, built.few)
    await compare("a run with 15,000 rollouts, against one with 1,600", OF_LARGE, built.large, built.small)
    large, small = await updates(built.many), await updates(built.few)
    ratio, times = large / small, f"{1000 * large:.0f} / {1000 * small:.0f} ms"
    print(f"  an event until a page that follows has it: {ratio:.1f} times ({times})")


async def compare(title: str, pages: Sequence[str], large: Path, small: Path) -> None:
    """Print a line for each page of two directories, and one for the memory of their servers."""
    print(f"\n{title}")
    async with _session(large) as (of_large, much), _session(small) as (of_small, little):
        for page in pages:
            pair = [
                await visits(session, served.address + await _path(session, served, page))
                for session, served in ((of_large, much), (of_small, little))
            ]
            print(Pair(page, *pair).shown(), flush=True)
        most, least = much.most_memory(), little.most_memory()
        print(f"  memory of the process: {most / least:.1f} times ({most / 1e6:.0f} / {least / 1e6:.0f} MB)")


@asynccontextmanager
async def _session(directory: Path) -> AsyncGenerator[tuple[aiohttp.ClientSession, Serving]]:
    async with AsyncExitStack() as stack:
        served = stack.enter_context(serving(directory))
        yield await stack.enter_async_context(aiohttp.ClientSession()), served


async def _path(session: aiohttp.ClientSession, served: Serving, page: str) -> str:
    """Return the path of a page; what cannot be known is found where a person would find it."""
    run = "/runs/run-000"
    match page:
        case "list":
            return "/"
        case "last page of the list":
            return "/?page=1000"
        case "run":
            return run
        case "step":
            return f"{run}/steps/7"
        case "skill":
            return f"{run}/skills"
        case "calls":
            return f"{run}/calls"
        case "compare":
            return "/compare?run=run-000&run=run-001"
        case "tasks":
            return f"{run}/tasks"
        case "last page of the tasks":
            return f"{run}/tasks?page=1000"
        case "task":
            return await link(session, served, f"{run}/tasks", rf"{run}/task\?.*")
        case "evaluation":
            return await link(session, served, f"{run}/steps/7", rf"{run}/evaluation\?.*")
        case _:
            task = await link(session, served, f"{run}/tasks", rf"{run}/task\?.*")
            return await link(session, served, task, rf"{run}/trajectory\?.*")
