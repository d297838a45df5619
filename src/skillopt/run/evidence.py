"""The evidence store: everything that was paid for, on disk before anything is derived from it.

One SQLite file in the run directory. A record is never changed: the first one under a key stands. An error is never
evidence; what a stage went on without is written down apart (`given_up`), so that a replay makes the same choice.

A call that is paid is written together with the record that it was paid for, in one transaction (`recording`): there
is no moment in which one of them is on disk without the other.

Writes are durable one by one (write-ahead log, `synchronous=FULL`): a kill loses nothing, and neither does a power cut.
That costs about a third of a millisecond a record on an SSD, against hundreds for the reply that is recorded, so the
calls are plain functions on the event loop's thread.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, TypeAlias, TypeVar

from skillopt.disk import OpenedFile
from skillopt.errors import RunDirectoryError
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.models.meter import Payment
from skillopt.run.evidence_format import (
    PAYMENT_COLUMNS,
    RECORDS,
    checksum,
    damage_advice,
    insert,
    note,
    prepare,
    row_checksum,
    transaction,
)
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
from skillopt.run.evidence_trouble import guarded
from skillopt.types import Failure, Place, Role, Rollout, Task, Trajectory, Usage

BUSY_SECONDS = 5.0
"""How long a write waits for another process that is writing."""

ValueT = TypeVar("ValueT")
Value: TypeAlias = str | int | float | None
"""What a column can hold."""


@dataclass(frozen=True, slots=True)
class _Paying:
    """What is paid for right now, and what was paid for it and is not written yet."""

    key: str
    payments: list[Payment] = field(default_factory=list[Payment])


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
        self._paying: ContextVar[_Paying | None] = ContextVar("what is paid for", default=None)
        with guarded(self._path):
            self._connection = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None)
        try:
            with guarded(self._path):
                prepare(self._connection, path)
        except BaseException:
            self._connection.close()
            raise
        # A database in memory has no place.
        self._opened = OpenedFile.at(path) if path.exists() else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; safe to call twice."""
        with guarded(self._path):
            self._connection.close()

    def get_reply(self, key: str) -> ChatReply | None:
        """Return the recorded reply, or None."""
        return self._read("replies", key, reply_from_json)

    def put_reply(self, key: str, reply: ChatReply, *, role: Role, request: ChatRequest) -> None:
        """Record a reply and what it answers; on disk when this returns. The first reply under a key stands."""
        values = {"role": role, **_columns(request.place), "request": request_to_json(request)}
        self._record("replies", key, reply_to_json(reply), **values)

    def get_trajectory(self, key: str) -> Trajectory | None:
        """Return what the target did, whether or not it could be scored, or None."""
        return self._read("trajectories", key, trajectory_from_json)

    def put_trajectory(self, key: str, trajectory: Trajectory) -> None:
        """Record what the target did, before it is scored; on disk when this returns."""
        self._record("trajectories", key, trajectory_to_json(trajectory))

    def get_rollout(self, key: str, task: Task) -> Rollout | None:
        """Return the recorded rollout of a task, or None."""
        return self._read("rollouts", key, lambda text: rollout_from_json(text, task))

    def put_rollout(self, key: str, rollout: Rollout) -> None:
        """Record a measured rollout; on disk when this returns. The first rollout under a key stands.

        Raises:
            ValueError: If the rollout was not measured: an error is never evidence.
        """
        if not rollout.measured:
            raise ValueError(f"task {rollout.task.id!r} was not measured ({rollout.failure}); that is no evidence")
        task, repeat = rollout.task.digest, rollout.repeat
        values = {"skill_digest": rollout.skill_digest, "task_digest": task, "repeat": repeat}
        self._record("rollouts", key, rollout_to_json(rollout), **values)

    def get_given_up(self, key: str, place: Place) -> Failure | None:
        """Return why a place of the run went on without a measurement or reply, or None where it did not."""
        return self._read("given_up", key, failure_from_json, **_columns(place))

    def put_given_up(self, key: str, place: Place, failure: Failure) -> None:
        """Record that a place of the run goes on without what is named by `key`. No other place is answered by it."""
        self._record("given_up", key, failure_to_json(failure), **_columns(place))

    @contextmanager
    def recording(self, key: str) -> Generator[None]:
        """Write what is paid within the block together with the record that it was paid for, in one transaction.

        What led to no record, such as a blank reply that was asked for again in vain, is written at the block's end as
        of no use. A process that is killed within the block has written nothing of it: like every call in flight.

        Args:
            key: What is paid for; the ledger finds the payments of a reply or a rollout under it.
        """
        paying = _Paying(key)
        token = self._paying.set(paying)
        try:
            yield
        finally:
            self._paying.reset(token)
            for payment in paying.payments:
                self._pay(replace(payment, useful=False))

    def put_payment(self, payment: Payment) -> None:
        """Write a payment down: on disk when this returns or, within `recording`, with the record it was paid for."""
        paying = self._paying.get()
        if paying is None:
            self._pay(payment)
        else:
            paying.payments.append(replace(payment, key=paying.key))

    def payments(self) -> tuple[Payment, ...]:
        """Return all payments, oldest first."""
        names = ", ".join(PAYMENT_COLUMNS)
        with guarded(self._path):
            rows = self._connection.execute(f"SELECT {names}, checksum FROM payments ORDER BY rowid").fetchall()
        for *values, written in rows:
            if row_checksum("payments", dict(zip(PAYMENT_COLUMNS, values, strict=True))) != written:
                message = f"{self._path} holds a damaged payment: it is not what was written, by its checksum"
                raise RunDirectoryError(message, hint=damage_advice(self._path))
        return tuple(
            Payment(r[0], Place(*r[1:6]), Usage(*r[6:10]), r[10], r[11], key=r[13], useful=bool(r[14])) for r in rows
        )

    @property
    def empty(self) -> bool:
        """Whether it holds no record at all, neither of the run itself nor shared by another one."""
        return not self._any(*RECORDS)

    @property
    def begun(self) -> bool:
        """Whether a training has paid or come past its baseline, paid or shared; an evaluation begins no run."""
        own = ("replies WHERE origin = ''", "payments WHERE stage != 'eval' AND useful", "given_up")
        return self._any(*own, "meta WHERE name LIKE 'timing of %'")

    @property
    def directory(self) -> Path:
        """The directory that it lies in."""
        return self._path.parent

    def _any(self, *tables: str) -> bool:
        with guarded(self._path):
            return any(self._connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables)

    def get_meta(self, name: str) -> str | None:
        """Return what is noted of the run under a name, such as its configuration's digest, or None."""
        with guarded(self._path):
            row = self._connection.execute("SELECT value, checksum FROM meta WHERE name = ?", (name,)).fetchone()
        if row is None:
            return None
        if name != "format" and checksum(name, str(row[0])) != row[1]:
            raise RunDirectoryError(
                f"{self._path} holds a damaged note of the run, {name!r}", hint=damage_advice(self._path)
            )
        return str(row[0])

    def put_meta(self, name: str, value: str) -> None:
        """Note something of the run under a name; a later note replaces it.

        Raises:
            ValueError: If the name is `format`, which belongs to the store.
        """
        if name == "format":
            raise ValueError("the name `format` belongs to the store itself")
        with guarded(self._path):
            note(self._connection, name, value)

    def remove_meta(self, name: str) -> None:
        """Forget what is noted of the run under a name."""
        with guarded(self._path):
            self._connection.execute("DELETE FROM meta WHERE name = ?", (name,))

    def _read(self, table: str, key: str, decode: Callable[[str], ValueT], **where: Value) -> ValueT | None:
        named = "".join(f" AND {name} = ?" for name in where)
        query = f"SELECT {RECORDS[table]}, checksum FROM {table} WHERE key = ?{named}"
        with guarded(self._path):
            row = self._connection.execute(query, (key, *where.values())).fetchone()
        if row is None:
            return None
        try:
            if row_checksum(table, {"key": key, **where, RECORDS[table]: row[0]}) != row[1]:
                raise ValueError("it is not what was written, by its checksum")
            return decode(row[0])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            message = f"{self._path} holds a damaged record, in {table}: {error}"
            raise RunDirectoryError(message, hint=damage_advice(self._path)) from error

    def _record(self, table: str, key: str, text: str, **values: Value) -> None:
        """Write a record and what was paid for it; the first one under a key stands."""
        self._write_record(table, key, text, values)
        if self._opened is not None:
            self._opened.check_in_place()

    def _write_record(self, table: str, key: str, text: str, values: Mapping[str, Value]) -> None:
        row: dict[str, Value] = {"key": key, **values, RECORDS[table]: text, "recorded_at": _now()}
        row["checksum"] = row_checksum(table, row)
        paying = self._paying.get()
        with guarded(self._path):
            if paying is None or not paying.payments:
                insert(self._connection, table, row, first_stands=True)
                return
            with transaction(self._connection):
                insert(self._connection, table, row, first_stands=True)
                for payment in paying.payments:
                    self._pay(payment)
        paying.payments.clear()

    def _pay(self, payment: Payment) -> None:
        row: dict[str, Value] = {
            "role": payment.role,
            **_columns(payment.place),
            **asdict(payment.usage),
            "dollars": payment.dollars,
            "retries": payment.retries,
            "key": payment.key,
            "useful": payment.useful,
            "paid_at": _now(),
        }
        row["checksum"] = row_checksum("payments", row)
        with guarded(self._path):
            insert(self._connection, "payments", row)


def _columns(place: Place) -> dict[str, Value]:
    return {
        "stage": place.stage,
        "epoch": place.epoch,
        "step": place.step,
        "place_index": place.index,
        "attempt": place.attempt,
    }


def _now() -> str:
    """The clock, for people who look into the file; nothing is derived from it."""
    return datetime.now(UTC).isoformat(timespec="seconds")
