"""Runs in processes of their own, for tests that kill them.

The processes are forked from a server that has everything imported, so that a start takes a moment and not a second.
"""

from __future__ import annotations

import asyncio
import codecs
import itertools
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from datetime import datetime, tzinfo
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any, Self

from skillopt.api import train
from skillopt.config.load import load_config
from skillopt.errors import SkillOptError
from skillopt.events import Event, StepCommitted
from skillopt.run import forking

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


def fork_until(config: Path, directory: Path, moment: str) -> None:
    """Fork a run, and be killed while the evidence is "copied", or just before the copy is "named"."""
    if moment == "named":
        # The first file that is named is the one beside the lock.
        Path.replace = _deadly(Path.replace, 2)  # type: ignore[method-assign]
    else:
        forking.checksum = _deadly(forking.checksum, 20)
    asyncio.run(train(config, fork=directory))


def fork_until_the_baseline(config: Path, directory: Path, overrides: list[str]) -> None:
    """Fork a run, and be killed as soon as the baseline is committed."""

    def kill(event: Event) -> None:
        if isinstance(event, StepCommitted):
            os.kill(os.getpid(), signal.SIGKILL)

    asyncio.run(train(config, overrides, fork=directory, subscribers=[kill]))


def play_with_a_wild_clock(config: Path, overrides: list[str]) -> None:
    """Train while the machine's time jumps by years, forwards and backwards, at every look at it."""
    instants = itertools.cycle((1.7e9, 2e9, 0.0, 3.2e9, 1.1e9))

    def wild() -> float:
        return next(instants)

    class WildDatetime(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls.fromtimestamp(wild(), tz)

    vars(time).update(time=wild)
    for name, module in list(sys.modules.items()):
        if name.startswith("skillopt") and getattr(module, "datetime", None) is datetime:
            module.datetime = WildDatetime  # type: ignore[attr-defined]
    asyncio.run(train(config, overrides))


def play_as_nobody(config: Path, overrides: list[str], said: Path) -> None:
    """Train without a privileged user's rights, and write down the error that ended it."""
    text, loaded = said.open("w", encoding="utf-8"), load_config(config, overrides)
    codecs.lookup("utf-8-sig")  # Python's own files may be closed to nobody.
    if os.getuid() == 0:
        os.setgid(65534)
        os.setuid(65534)
    try:
        asyncio.run(train(loaded))
    except SkillOptError as error:
        text.write(str(error))
    text.close()
