"""Runs in processes of their own, for tests that kill them.

The processes are forked from a server that has everything imported, so that a start takes a moment and not a second.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
from collections.abc import Callable
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from skillopt.api import train

PRELOADED = [
    "benchmarks.kill.child",
    "pytest",
    "skillopt.api",
    "skillopt.models.client",
    "skillopt.simulation.opening",
    "tests.support.children",
]


def processes() -> ForkServerContext:
    """Return the context whose `Process(target=..., args=...)` starts a process; targets stand in this module."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def play(config: Path) -> None:
    """Train."""
    asyncio.run(train(config))


def play_until_file(config: Path, number: int, moment: str) -> None:
    """Train, and be killed at the n-th file: while it is "written", or just before it is "named"."""
    if moment == "named":
        Path.replace = _deadly(Path.replace, number)  # type: ignore[method-assign]
    else:
        os.fsync = _deadly(os.fsync, number)
    play(config)


def _deadly(real: Callable[..., Any], number: int) -> Callable[..., Any]:
    left = number

    def call(*arguments: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)

    return call
