"""Runs that are killed and go on, and what is compared with the run that was never killed."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import Any

from tests.support.children import processes
from tests.support.runs import views, write_run

from benchmarks.kill.child import CALL_ARRIVED, KINDS, Moment, Shot, play
from benchmarks.kill.drawing import draw_settings, draw_shots
from skillopt.digests import digest
from skillopt.simulation.optimizer import SimulatedOptimizer
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.target import SimulatedTarget
from skillopt.simulation.weather import Call
from skillopt.simulation.world import World

WORLD = World(5, rules=9, tasks=24)
"""12 training, 6 selection and 6 test tasks, and enough to learn for three epochs: no stage is left out for long."""

MOST_KILLS = 5
"""Most kills within one run."""

RUNS_OF_ONE_KIND = 10
"""Killed runs that share their settings, and so one run that is never killed."""

_CLOCKS = frozenset({"recorded_at", "paid_at", "checksum"})
"""Columns that hold clock readings, or are made from some."""


@dataclass(frozen=True, slots=True)
class Kill:
    """A kill that struck: its kind and the stage."""

    kind: str
    stage: str


@dataclass(slots=True)
class Trial:
    """What became of one killed run.

    Attributes:
        settings: What it was.
        shots: Where it was to be killed.
        kills: Where it was.
        differences: What is not as in the whole run; none where all is well.
        asked_again: Recorded calls that were asked again.
        lost: Calls that were in flight at a kill and so were asked again.
    """

    settings: Mapping[str, Any]
    shots: Sequence[Shot]
    kills: list[Kill] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    asked_again: int = 0
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Whole:
    """The run that was never killed: its configuration, files, records, requests, moments and seconds."""

    config: Path
    views: Mapping[str, Any]
    rows: Mapping[str, Counter[str]]
    asked: Counter[str]
    moments: Sequence[Moment]
    seconds: float


class Harness:
    """Plays runs in processes of their own against one server, kills them and compares.

    Args:
        directory: Where the runs lie.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: Any = None
        self._die_at = -1
        self._first_call = 0
        self.server = SimulatedServer(
            WORLD,
            target=SimulatedTarget(WORLD, noise=0.2, lapse=0.1),
            optimizer=SimulatedOptimizer(WORLD),
            delay=self._on_call,
        )

    async def _on_call(self, call: Call) -> None:
        if call.number == self._die_at:
            self._process.kill()

    async def whole(self, settings: Mapping[str, Any]) -> Whole:
        """Play a run to its end."""
        folder = Path(tempfile.mkdtemp(dir=self._directory))
        config = write_run(folder, WORLD, server=self.server, settings=settings)
        census, began = folder / "census.json", time.monotonic()
        code, asked = await self._play(config, None, run="whole", replies=0, census=census)
        seconds = time.monotonic() - began
        if code != 0:
            raise RuntimeError(f"a run that nobody killed ended with code {code}: {dict(settings)}")
        moments = [Moment(**row) for row in json.loads(census.read_text("utf-8"))]
        run = folder / "whole"
        return Whole(config, views(run), evidence_rows(run), asked, moments, seconds)

    async def trial(self, settings: Mapping[str, Any], shots: Sequence[Shot], whole: Whole) -> Trial:
        """Play a run that is killed, to its end, and compare it with the whole one."""
        trial = Trial(settings, shots)
        folder = whole.config.parent
        run = Path(tempfile.mkdtemp(prefix="killed-", dir=folder))
        for shot in (*shots, None):
            before = recorded(run)
            code, asked = await self._play(whole.config, shot, run=run.name, replies=before.total())
            if code not in (0, -SIGKILL):
                trial.differences.append(f"a start ended with code {code}")
            after = recorded(run)
            if code == -SIGKILL and shot is not None:
                trial.kills.append(Kill(shot.kind, (folder / "report").read_text("utf-8")))
            needed = whole.asked - before
            trial.asked_again += (asked - needed).total()
            lost = asked.total() - (after.total() - before.total())
            trial.lost += lost
            most = sum(int(settings[f"model.{role}.concurrency"]) for role in ("target", "optimizer"))
            if lost > (most if code == -SIGKILL else 0):
                trial.differences.append(f"{lost} replies came and were not recorded by a start that ended with {code}")
            trial.differences += [f"{name} is half written after a kill" for name in half_written(run)]
        trial.differences += _differences(whole, views(run), evidence_rows(run))
        if trial.asked_again:
            trial.differences.append(f"{trial.asked_again} recorded calls were asked again")
        if not trial.differences:
            shutil.rmtree(run)
        return trial

    async def _play(
        self, config: Path, shot: Shot | None, *, run: str, replies: int, census: Path | None = None
    ) -> tuple[int, Counter[str]]:
        """Play one start; return its exit code and what it asked."""
        first = len(self.server.calls)
        arriving = shot is not None and shot.kind == CALL_ARRIVED
        self._die_at = first + max(0, shot.replies - replies) if shot is not None and arriving else -1
        report = config.parent / "report"
        self._process = processes().Process(
            target=play, args=(config, [f"env.out_root={config.parent / run}"], shot, replies, report, census)
        )
        self._process.start()
        await asyncio.to_thread(self._process.join)
        await self._nobody_is_connected()
        asked = Counter(_request(call.body["messages"]) for call in self.server.calls[first:])
        return self._process.exitcode, asked

    async def _nobody_is_connected(self) -> None:
        """Wait until the server has met what a dead process sent last, which belongs to that start."""
        await asyncio.sleep(0.02)
        runner = self.server._runner
        while runner is not None and runner.server is not None and runner.server.connections:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def _request(messages: Any) -> str:
    return digest([[message["role"], message["content"]] for message in messages])


def _connect(run: Path, copy: Path) -> sqlite3.Connection:
    """Open a copy of the evidence, log and all: opening the file itself would tidy up what the kill left behind."""
    for path in run.glob("evidence.sqlite*"):
        if not path.name.endswith("-shm"):
            shutil.copy(path, copy / path.name)
    return sqlite3.connect(copy / "evidence.sqlite")


def recorded(run: Path) -> Counter[str]:
    """Return what was asked and is recorded, as the server saw it."""
    with tempfile.TemporaryDirectory() as copy, closing(_connect(run, Path(copy))) as evidence:
        try:
            replies = evidence.execute("SELECT request FROM replies").fetchall()
            trajectories = evidence.execute("SELECT trajectory FROM trajectories").fetchall()
        except sqlite3.OperationalError:
            return Counter()  # killed before there were tables
    asked = [json.loads(text)["messages"] for (text,) in replies]
    asked += [json.loads(text)["turns"][:-1] for (text,) in trajectories]
    return Counter(map(_request, asked))


def evidence_rows(run: Path) -> dict[str, Counter[str]]:
    """Return the rows of each table of the evidence, without clock readings and in no order."""
    rows: dict[str, Counter[str]] = {}
    with tempfile.TemporaryDirectory() as copy, closing(_connect(run, Path(copy))) as evidence:
        evidence.row_factory = sqlite3.Row
        for (table,) in evidence.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            clocks = " WHERE name NOT LIKE 'timing of %'" if table == "meta" else ""
            found = evidence.execute(f"SELECT * FROM {table}{clocks}").fetchall()
            rows[table] = Counter(
                json.dumps({name: _timeless(value) for name, value in dict(row).items() if name not in _CLOCKS})
                for row in found
            )
    return rows


def _timeless(value: Any) -> Any:
    if not (isinstance(value, str) and value.startswith("{")):
        return value
    record = json.loads(value)
    for part in (record, record.get("trajectory")):
        if isinstance(part, dict):
            part.pop("seconds", None)
    return record


def half_written(run: Path) -> list[str]:
    """Return the files that people read and that hold half of something."""
    found: list[str] = []
    for path in run.rglob("*.json"):
        try:
            json.loads(path.read_text("utf-8"))
        except ValueError:
            found.append(path.relative_to(run).as_posix())
    skills = [*run.glob("skills/*.md"), *run.glob("best_skill.md")]
    return found + [path.name for path in skills if not path.read_bytes().endswith(b"\n")]


def _differences(whole: Whole, files: Mapping[str, Any], rows: Mapping[str, Counter[str]]) -> list[str]:
    found = [f"{name} differs" for name in sorted({*whole.views, *files}) if whole.views.get(name) != files.get(name)]
    for table in sorted({*whole.rows, *rows}):
        there, here = whole.rows.get(table, Counter()), rows.get(table, Counter())
        if there != here:
            found.append(f"{table}: {(there - here).total()} rows are missing, {(here - there).total()} are new")
    return found


async def trials(
    points: int,
    *,
    seed: int,
    directory: Path,
    watch: Callable[[Trial], None],
    most_kills: int = MOST_KILLS,
    runs_of_one_kind: int = RUNS_OF_ONE_KIND,
    settings: Mapping[str, Any] | None = None,
) -> list[Trial]:
    """Play so many killed runs; kinds of moments take turns, everything else is drawn.

    Args:
        points: How many.
        seed: What all drawing follows from.
        directory: Where the runs lie; those that differ stay.
        watch: Told of each run when it is over.
        most_kills: Most kills within one run.
        runs_of_one_kind: Runs that share their settings.
        settings: Settings that are not drawn.
    """
    draw = random.Random(seed)
    results: list[Trial] = []
    harness = Harness(directory)
    async with harness.server:
        while len(results) < points:
            drawn = {**draw_settings(draw), **(settings or {})}
            whole = await harness.whole(drawn)
            for _ in range(min(runs_of_one_kind, points - len(results))):
                first = KINDS[len(results) % len(KINDS)]
                shots = draw_shots(
                    draw,
                    whole.moments,
                    first=first,
                    most=most_kills,
                    replies=whole.asked.total(),
                    seconds=whole.seconds,
                )
                results.append(await harness.trial(drawn, shots, whole))
                watch(results[-1])
    return results
