"""The training as it plays in a process of its own, with its moments numbered, until it is shot at one of them.

A moment is a place where a kill could leave something half done: an event, a file, a statement to the database, a reply
that is not recorded yet. They are seen by wrapping what the product calls, in this process alone; the product knows
nothing of it.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from skillopt.api import train
from skillopt.events import EpochStageCommitted, Event, StageStarted
from skillopt.models.client import CompatibleClient
from skillopt.run.event_log import EventLog

CALL_ARRIVED = "a call reached the server"
RANDOM = "a random moment"
BEST_NAMED = "between best skill and history"
REPLY_CAME = "a reply came and is not recorded"

KINDS = (
    "before an event",
    "after an event",
    "half of an event's line written",
    "half of a file written",
    "before a file is synced",
    "before a file is named",
    "after a file is named",
    "before a reading statement",
    "before a writing statement",
    "after a writing statement",
    REPLY_CAME,
    BEST_NAMED,
    CALL_ARRIVED,
    RANDOM,
)
"""Every kind of moment, in words; the last two are the parent's and the clock's."""


@dataclass(frozen=True, slots=True)
class Shot:
    """When a process is shot: at a moment of a kind, counted once the run has so many replies.

    Attributes:
        kind: One of `KINDS`.
        replies: Replies that the run must have, recorded by earlier starts or got by this one.
        number: Which moment of the kind, from 1.
        seconds: After how many seconds, where the kind is a random moment.
    """

    kind: str
    replies: int = 0
    number: int = 1
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment that passed: its kind, the stage, and how many replies had come before."""

    kind: str
    stage: str
    replies: int


class Gun:
    """Counts moments and shoots at one of them.

    Args:
        shot: When; None only counts.
        replies: Replies that earlier starts recorded.
        report: Where the stage is noted as it begins, so that it is known wherever the process ends.
    """

    def __init__(self, shot: Shot | None, *, replies: int, report: Path) -> None:
        self.moments: list[Moment] = []
        self.replies = replies
        self._shot = shot
        self._left = shot.number if shot else 0
        self._stage = "opening"
        self._report = os.open(report, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self.enter(self._stage)
        if shot is not None and shot.kind == RANDOM:
            timer = threading.Timer(shot.seconds, self.shoot)
            timer.daemon = True
            timer.start()

    def enter(self, stage: str) -> None:
        """Note that a stage begins."""
        self._stage = stage
        os.ftruncate(self._report, 0)
        os.pwrite(self._report, stage.encode(), 0)

    def is_due(self, kind: str) -> bool:
        """Count a moment; whether the process dies in it."""
        self.moments.append(Moment(kind, self._stage, self.replies))
        shot = self._shot
        if shot is None or shot.kind != kind or self.replies < shot.replies:
            return False
        self._left -= 1
        return self._left == 0

    def pass_by(self, kind: str) -> None:
        """Count a moment, and die in it if it is the one."""
        if self.is_due(kind):
            self.shoot()

    def shoot(self) -> None:
        """Die as by `kill -9`."""
        os.kill(os.getpid(), signal.SIGKILL)


def play(
    config: Path, overrides: list[str], shot: Shot | None, replies: int, report: Path, census: Path | None = None
) -> None:
    """Train, and be shot.

    Args:
        config: The configuration.
        overrides: Settings that override those of the file.
        shot: When; None plays to the end.
        replies: Replies that earlier starts recorded.
        report: Where the stage is noted.
        census: Where the moments that passed are written.
    """
    gun = Gun(shot, replies=replies, report=report)
    _watch_events(gun)
    _watch_files(gun)
    _watch_statements(gun)
    _watch_replies(gun)
    asyncio.run(train(config, overrides))
    if census is not None:
        census.write_text(json.dumps([asdict(moment) for moment in gun.moments]), "utf-8")


def _watch_events(gun: Gun) -> None:
    emit = EventLog.emit

    def watched(log: EventLog, event: Event) -> None:
        if isinstance(event, StageStarted):
            gun.enter(event.stage)
        gun.pass_by("before an event")
        emit(log, event)
        gun.pass_by("after an event")
        if isinstance(event, EpochStageCommitted):
            # The meta skill, which has one call only, does not say that it begins.
            gun.enter("meta_skill" if event.stage == "slow_update" else "the end of an epoch")

    EventLog.emit = watched  # type: ignore[method-assign]


class _HalfWritten:
    """A file of which half of a text may be all that is written."""

    def __init__(self, file: Any, gun: Gun, kind: str) -> None:
        self._file = file
        self._gun = gun
        self._kind = kind

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _HalfWritten:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, content: Any) -> int:
        """Write it, or half of it and no more of anything."""
        if self._gun.is_due(self._kind):
            self._file.write(content[: len(content) // 2])
            self._file.flush()
            self._gun.shoot()
        return self._file.write(content)


def _watch_files(gun: Gun) -> None:
    real_open, replace = Path.open, Path.replace

    def watched_open(path: Path, mode: str = "r", *arguments: Any, **named: Any) -> Any:
        file = real_open(path, mode, *arguments, **named)
        if not set(mode) & set("wxa"):
            return file
        return _HalfWritten(file, gun, "half of an event's line written" if "a" in mode else "half of a file written")

    def watched_replace(path: Path, target: Path) -> Path:
        gun.pass_by("before a file is named")
        named = replace(path, target)
        gun.pass_by("after a file is named")
        if target.name == "best_skill.md":
            gun.pass_by(BEST_NAMED)
        return named

    def watched_fsync(descriptor: int) -> None:
        # Not waited for: what a process has written outlives it, whether or not it was synced.
        gun.pass_by("before a file is synced")

    Path.open = watched_open  # type: ignore[method-assign,assignment]
    Path.replace = watched_replace  # type: ignore[method-assign,assignment]
    os.fsync = watched_fsync  # type: ignore[assignment]


def _watch_statements(gun: Gun) -> None:
    connect: Callable[..., Any] = sqlite3.connect

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
            kind = "a reading statement" if statement.startswith("SELECT") else "a writing statement"
            gun.pass_by(f"before {kind}")
            cursor = super().execute(statement.replace("synchronous = FULL", "synchronous = OFF"), *values)
            gun.pass_by(f"after {kind}")
            return cursor

    sqlite3.connect = lambda *arguments, **named: connect(*arguments, factory=Watched, **named)  # type: ignore[assignment]


def _watch_replies(gun: Gun) -> None:
    reply = CompatibleClient.reply

    async def watched(client: CompatibleClient, request: Any) -> Any:
        answer = await reply(client, request)
        gun.replies += 1
        gun.pass_by(REPLY_CAME)
        return answer

    CompatibleClient.reply = watched  # type: ignore[method-assign]
