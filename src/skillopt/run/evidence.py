"""The evidence store: everything that was paid for, on disk before anything is derived from it.

One SQLite file in the run directory. A record is never changed: the first one under a key stands. An error is never
evidence; what a stage went on without is written down apart (`given_up`), so that a replay makes the same choice.

Writes are durable one by one (write-ahead log, `synchronous=FULL`): a kill loses nothing, and neither does a power cut.
That costs about a third of a millisecond a record on an SSD, against hundreds for the reply that is recorded, so the
calls are plain functions on the event loop's thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from skillopt.errors import RunDirectoryError
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.meter import Payment
from skillopt.run.evidence_json import (
    failure_from_json,
    failure_to_json,
    reply_from_json,
    reply_to_json,
    request_to_json,
    rollout_from_json,
    rollout_to_json,
    trajectory_from_json,
    trajectory_to_json,
)
from skillopt.types import Failure, Place, Role, Rollout, Task, Trajectory, Usage

FORMAT = "1"
"""Version of the tables; raised with every change that an older reader would misunderstand."""

BUSY_SECONDS = 5.0
"""How long a write waits for another process that is writing."""

ValueT = TypeVar("ValueT")

_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, role TEXT NOT NULL,
    stage TEXT NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL,
    place_index INTEGER NOT NULL, attempt INTEGER NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL, recorded_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS trajectories (key TEXT PRIMARY KEY, trajectory TEXT NOT NULL, recorded_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS rollouts (
    key TEXT PRIMARY KEY, skill_digest TEXT NOT NULL, task_digest TEXT NOT NULL, repeat INTEGER NOT NULL,
    rollout TEXT NOT NULL, recorded_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS payments (
    role TEXT NOT NULL,
    stage TEXT NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL,
    place_index INTEGER NOT NULL, attempt INTEGER NOT NULL,
    calls INTEGER NOT NULL, fresh_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, dollars REAL, retries INTEGER NOT NULL, paid_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS given_up (
    key TEXT NOT NULL,
    stage TEXT NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL,
    place_index INTEGER NOT NULL, attempt INTEGER NOT NULL,
    failure TEXT NOT NULL, recorded_at TEXT NOT NULL,
    PRIMARY KEY (key, stage, epoch, step, place_index, attempt)
);
"""

_DISK_ADVICE = {
    "SQLITE_FULL": "Free some space on the disk and start again: nothing that was recorded is lost.",
    "SQLITE_IOERR": "Check the disk and its free space, and start again: nothing that was recorded is lost.",
    "SQLITE_READONLY": "The run directory must be writable.",
    "SQLITE_CANTOPEN": "The run directory must exist and be writable.",
    "SQLITE_BUSY": "Another process is using this run; wait for it or stop it.",
    "SQLITE_LOCKED": "Another process is using this run; wait for it or stop it.",
}
_DAMAGE_ADVICE = "Put back a copy of it, or move the whole run directory away: it then starts anew and pays again."


class EvidenceStore:
    """The evidence of one run. Use it on one thread; close it, or use it as a context manager.

    Args:
        path: The database file; made where there is none. Its directory must exist.
        busy_seconds: How long a write waits for another process that is writing.

    Raises:
        RunDirectoryError: If the file cannot be opened, is no evidence store, is damaged, or was written by a newer
            version. Every method raises it too, where the disk is full or the file turns out to be damaged.
    """

    def __init__(self, path: Path, *, busy_seconds: float = BUSY_SECONDS) -> None:
        self._path = path
        with self._guarded():
            self._connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
        try:
            with self._guarded():
                self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        with self._guarded():
            self._connection.close()

    def get_reply(self, key: str) -> ChatReply | None:
        """Return the recorded reply, or None."""
        return self._read("SELECT reply FROM replies WHERE key = ?", (key,), reply_from_json)

    def put_reply(self, key: str, reply: ChatReply, *, role: Role, request: ChatRequest) -> None:
        """Record a reply and what it answers; on disk when this returns. The first reply under a key stands."""
        self._write(
            "INSERT OR IGNORE INTO replies VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (key, role, *_columns(request.place), request_to_json(request), reply_to_json(reply), _now()),
        )

    def get_trajectory(self, key: str) -> Trajectory | None:
        """Return what the target did, whether or not it could be scored, or None."""
        return self._read("SELECT trajectory FROM trajectories WHERE key = ?", (key,), trajectory_from_json)

    def put_trajectory(self, key: str, trajectory: Trajectory) -> None:
        """Record what the target did, before it is scored; on disk when this returns."""
        self._write(
            "INSERT OR IGNORE INTO trajectories VALUES (?, ?, ?)", (key, trajectory_to_json(trajectory), _now())
        )

    def get_rollout(self, key: str, task: Task) -> Rollout | None:
        """Return the recorded rollout of a task, or None."""
        query = "SELECT rollout FROM rollouts WHERE key = ?"
        return self._read(query, (key,), lambda text: rollout_from_json(text, task))

    def put_rollout(self, key: str, rollout: Rollout) -> None:
        """Record a measured rollout; on disk when this returns. The first rollout under a key stands.

        Raises:
            ValueError: If the rollout was not measured: an error is never evidence.
        """
        if not rollout.measured:
            raise ValueError(f"task {rollout.task.id!r} was not measured ({rollout.failure}); that is no evidence")
        self._write(
            "INSERT OR IGNORE INTO rollouts VALUES (?, ?, ?, ?, ?, ?)",
            (key, rollout.skill_digest, rollout.task.digest, rollout.repeat, rollout_to_json(rollout), _now()),
        )

    def get_given_up(self, key: str, place: Place) -> Failure | None:
        """Return why a place of the run went on without a measurement or reply, or None where it did not."""
        return self._read(
            "SELECT failure FROM given_up WHERE key = ? AND stage = ? AND epoch = ? AND step = ?"
            " AND place_index = ? AND attempt = ?",
            (key, *_columns(place)),
            failure_from_json,
        )

    def put_given_up(self, key: str, place: Place, failure: Failure) -> None:
        """Record that a place of the run goes on without what is named by `key`. No other place is answered by it."""
        self._write(
            "INSERT OR IGNORE INTO given_up VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (key, *_columns(place), failure_to_json(failure), _now()),
        )

    def put_payment(self, payment: Payment) -> None:
        """Write a payment down; on disk when this returns."""
        usage = payment.usage
        amounts = (usage.calls, usage.fresh_tokens, usage.cached_tokens, usage.output_tokens, payment.dollars)
        self._write(
            "INSERT INTO payments VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (payment.role, *_columns(payment.place), *amounts, payment.retries, _now()),
        )

    def payments(self) -> tuple[Payment, ...]:
        """Return all payments, oldest first."""
        with self._guarded():
            rows = self._connection.execute("SELECT * FROM payments ORDER BY rowid").fetchall()
        return tuple(
            Payment(role, Place(*place), Usage(*usage), dollars, retries)
            for role, place, usage, dollars, retries in ((r[0], r[1:6], r[6:10], r[10], r[11]) for r in rows)
        )

    @property
    def empty(self) -> bool:
        """Whether nothing was recorded yet that was asked or measured."""
        return all(
            self._read(f"SELECT 1 FROM {table} LIMIT 1", (), str) is None
            for table in ("replies", "rollouts", "trajectories", "given_up")
        )

    def get_meta(self, name: str) -> str | None:
        """Return what is noted of the run under a name, such as its configuration's digest, or None."""
        return self._read("SELECT value FROM meta WHERE name = ?", (name,), str)

    def put_meta(self, name: str, value: str) -> None:
        """Note something of the run under a name; a later note replaces it.

        Raises:
            ValueError: If the name is `format`, which belongs to the store.
        """
        if name == "format":
            raise ValueError("the name `format` belongs to the store itself")
        self._write("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    def remove_meta(self, name: str) -> None:
        """Forget what is noted of the run under a name."""
        self._write("DELETE FROM meta WHERE name = ?", (name,))

    def _prepare(self) -> None:
        """Set the file up, or make sure that it is one of ours."""
        execute = self._connection.execute
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = FULL")
        execute("BEGIN IMMEDIATE")
        try:
            tables = {str(name) for (name,) in execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if tables:
                self._check_is_ours(tables)
            # Tables that came later are made in an older file too.
            for statement in filter(str.strip, _TABLES.split(";")):
                execute(statement)
            execute("INSERT OR IGNORE INTO meta VALUES ('format', ?)", (FORMAT,))
        except BaseException:
            execute("ROLLBACK")
            raise
        execute("COMMIT")

    def _check_is_ours(self, tables: set[str]) -> None:
        if "meta" not in tables:
            raise RunDirectoryError(f"{self._path} is a database, but no evidence store", hint=_DAMAGE_ADVICE)
        written = self.get_meta("format")
        if written != FORMAT:
            raise RunDirectoryError(
                f"{self._path} has format {written}; this version of SkillOpt knows format {FORMAT}",
                hint="Use the version of SkillOpt that wrote it, or start a new run directory.",
            )

    def _read(self, query: str, values: tuple[Any, ...], decode: Callable[[str], ValueT]) -> ValueT | None:
        with self._guarded():
            row = self._connection.execute(query, values).fetchone()
        if row is None:
            return None
        try:
            return decode(row[0])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RunDirectoryError(f"{self._path} holds a damaged record: {error}", hint=_DAMAGE_ADVICE) from error

    def _write(self, statement: str, values: tuple[Any, ...]) -> None:
        with self._guarded():
            self._connection.execute(statement, values)

    @contextmanager
    def _guarded(self) -> Generator[None]:
        """Turn what SQLite says of the file or the disk into an error for a person."""
        try:
            yield
        except sqlite3.ProgrammingError:
            raise  # A mistake in this program, such as use after closing.
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            advice = next((text for start, text in _DISK_ADVICE.items() if name.startswith(start)), _DAMAGE_ADVICE)
            raise RunDirectoryError(f"the evidence in {self._path} cannot be used: {error}", hint=advice) from error


def _columns(place: Place) -> tuple[str, int, int, int, int]:
    return (place.stage, place.epoch, place.step, place.index, place.attempt)


def _now() -> str:
    """The clock, for people who look into the file; nothing is derived from it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
