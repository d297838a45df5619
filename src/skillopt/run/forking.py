"""A fork: a run of its own that shares what another one has paid for, as far as its keys still match.

Replies, trajectories and rollouts of the source are copied under the keys they have there. A key is made of all that
determines a record, so one that does not fit the new settings, models or tasks is never asked for. What belongs to the
source alone is not copied: what it was, when and what it paid, how long it took, and what it went on without.

The source is opened read-only, whether it is finished, was killed or is running, and nothing in it is changed.
"""

from __future__ import annotations

import json
import math
import shutil
import sqlite3
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from skillopt.config.env_settings import EnvSettings
from skillopt.data.split_names import SPLIT_NAMES
from skillopt.disk import refused
from skillopt.errors import RunDirectoryError
from skillopt.evaluation.keys import measurement_protocol, rollout_key
from skillopt.harness.chat import ChatHarness
from skillopt.models.journal import reply_key
from skillopt.run.evidence import EvidenceStore
from skillopt.run.evidence_format import RECORDS, checksum, damage_advice, insert, known_format, note, prepare
from skillopt.run.evidence_json import request_from_json
from skillopt.run.history import Record
from skillopt.run.ledger import LedgerRow
from skillopt.run.lock import LOCK_NAME, read_holder
from skillopt.run.models import Models
from skillopt.run.own_files import EVIDENCE_NAME, LOG, beside
from skillopt.run.setup import Setup
from skillopt.types import Place

_COPY_NAME = "evidence.fork.sqlite"
"""The copy while it is made; a process that is killed leaves it behind, and the next one begins it anew."""
_NOTE = "forked from"
_COPIED = ("replies", "trajectories", "rollouts")
_MOST_NAMED = 3
_UNCHANGED = "The source was not changed."


@dataclass(frozen=True, slots=True)
class Shared:
    """What a fork has from its source, counted when it was copied.

    Attributes:
        source: The source's directory, absolute.
        replies: Replies of the optimizer.
        trajectories: What the target did on tasks.
        rollouts: The same with their scores.
    """

    source: str
    replies: int
    trajectories: int
    rollouts: int

    @property
    def counts(self) -> dict[str, int]:
        """How many of each there are."""
        return {"replies": self.replies, "trajectories": self.trajectories, "rollouts": self.rollouts}

    @property
    def name(self) -> str:
        """The name of the source's directory."""
        return Path(self.source).name


def shared_by(evidence: EvidenceStore) -> Shared | None:
    """Return what a run's evidence has from another run; None for one that is no fork."""
    noted = evidence.get_meta(_NOTE)
    return None if noted is None else Shared(**json.loads(noted))


def fork_record(shared: Shared, rows: Sequence[LedgerRow]) -> Record:
    """Return what summary.json says of a fork: what was copied, and what of it the run used.

    Args:
        shared: What the run has from its source.
        rows: The run's ledger; what it used and never paid for came from the source.
    """
    # What an evaluation beside the run has paid for is no gift of the source.
    paid = {row.key for row in rows if row.source == "paid"}
    used = [row for row in rows if row.used and row.key not in paid]
    prices = [row.dollars for row in used if row.dollars is not None]
    return {
        "from": shared.name,
        **shared.counts,
        "used_records": len(used),
        "used_calls": sum(row.usage.calls for row in used),
        "used_dollars": math.fsum(prices) if len(prices) == len(used) else None,
    }


@dataclass(frozen=True, slots=True)
class Fork:
    """Where a fork is kept, and the run that it shares with: both directories, absolute."""

    directory: Path
    source: Path


def fork_of(env: EnvSettings, directory: str | Path) -> Fork:
    """Return the fork that shares with the run of a configuration and is kept in another directory.

    Raises:
        RunDirectoryError: If the configuration names none.
    """
    if env.out_root is None:
        raise RunDirectoryError(
            "the configuration names no run to share with: env.out_root is not set",
            hint="Name the run's directory in env.out_root, or begin with its own configuration: "
            "skillopt train RUN/config.yaml --fork NEW_DIRECTORY.",
        )
    return Fork(Path(directory).resolve(), Path(env.out_root).resolve())


def check_fork(fork: Fork) -> None:
    """Make sure that a fork can begin or go on in its directory; nothing is written.

    Raises:
        RunDirectoryError: If it cannot.
    """
    directory, source = fork.directory, fork.source
    if directory == source or source in directory.parents:
        where = "the directory of the run itself" if directory == source else "inside the directory of the run"
        raise RunDirectoryError(f"--fork names {where}, {source}", hint="Name a new directory beside it.")
    if (directory / EVIDENCE_NAME).exists():
        return
    if directory.exists() and not directory.is_dir():
        raise RunDirectoryError(f"{directory} is no directory", hint="Name a new directory.")
    strangers = [path.name for path in sorted(directory.iterdir())] if directory.exists() else []
    strangers = [name for name in strangers if not name.startswith((LOCK_NAME, _COPY_NAME))]
    if strangers:
        named = ", ".join(strangers[:_MOST_NAMED]) + (", ..." if len(strangers) > _MOST_NAMED else "")
        raise RunDirectoryError(f"{directory} is not empty ({named})", hint="A fork begins in a new directory.")
    if not (source / EVIDENCE_NAME).is_file():
        raise RunDirectoryError(
            f"{source} is no run directory: it has no {EVIDENCE_NAME}",
            hint="Name the run to share with in env.out_root.",
        )


def share_evidence(fork: Fork) -> None:
    """Copy what a run has paid for into the directory of its fork, unless it is there already. Hold the lock for it.

    The copy gets its name when it is whole, so one that was killed is made anew.

    Raises:
        RunDirectoryError: If the directory is another run's, or the source cannot be read or is damaged.
    """
    directory, source = fork.directory, fork.source
    evidence = directory / EVIDENCE_NAME
    if evidence.exists():
        with EvidenceStore(evidence) as store:
            shared = shared_by(store)
        if shared is None or shared.source != str(source):
            what = "is a run that is no fork" if shared is None else f"is a fork of {shared.source}"
            raise RunDirectoryError(
                f"{directory} {what}, and not one of {source}",
                hint="Name a new directory; to go on with a run leave out --fork and name it in env.out_root.",
            )
        return
    copy = directory / _COPY_NAME
    _remove_leftovers(directory)
    try:
        _copy_source(source, copy)
    except sqlite3.Error as error:
        damaged = getattr(error, "sqlite_errorname", "").startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))
        advice = damage_advice(source / EVIDENCE_NAME) if damaged else "Mend the cause, and run the same command again."
        raise RunDirectoryError(
            f"the evidence of {source} cannot be shared: {error}", hint=f"{_UNCHANGED} {advice}"
        ) from error
    copy.replace(evidence)
    _remove_leftovers(directory)


def _copy_source(source: Path, copy: Path) -> None:
    found, private = source / EVIDENCE_NAME, copy.with_name(f"{_COPY_NAME}.source")
    if not beside(found, LOG).exists():
        _copy(source, copy, found=found, in_use=False)
        if not beside(found, LOG).exists():
            return
        # Somebody began to write just now, so the file may not have stood still.
        copy.unlink()
    elif read_holder(source) is None:
        # SQLite would set up an index beside the log that a killed process has left: it gets one beside a copy.
        with refused(f"the evidence of {source} cannot be copied to {copy.parent}"):
            shutil.copy(found, private)
            shutil.copy(beside(found, LOG), beside(private, LOG))
        if read_holder(source) is None:
            _copy(source, copy, found=private, in_use=True)
            return
    _copy(source, copy, found=found, in_use=True)


def _remove_leftovers(directory: Path) -> None:
    with refused(f"{directory} cannot be cleared of half-made copies"):
        for path in directory.glob(f"{_COPY_NAME}*"):
            path.unlink()


def matching(directory: Path, setup: Setup, models: Models) -> dict[str, int]:
    """Return how many of the copied replies and rollouts may answer a fork: those whose keys match its set-up.

    A rollout matches with its skill, whatever that is, the task, what measures it and the target; a reply with its
    question. Which skills and questions come up is for the run to show.

    Args:
        directory: The fork's, with its evidence.
        setup: The fork's tasks and environment.
        models: The fork's models.
    """
    protocol = measurement_protocol(setup.environment.identity, ChatHarness(models.target).identity)
    tasks = {task.digest for name in SPLIT_NAMES for task in setup.splits[name]}

    def rollout_matches(row: sqlite3.Row) -> bool:
        digests = {"skill_digest": row["skill_digest"], "task_digest": row["task_digest"]}
        return row["task_digest"] in tasks and rollout_key(protocol, **digests, repeat=row["repeat"]) == row["key"]

    def reply_matches(row: sqlite3.Row) -> bool:
        place = Place(row["stage"], row["epoch"], row["step"], row["place_index"], row["attempt"])
        try:
            request = request_from_json(row["request"], place)
        except (ValueError, KeyError, TypeError):
            return False  # What was asked stands there for people, and no checksum guards it.
        return reply_key(row["role"], models.optimizer.identity, request) == row["key"]

    kinds = {"replies": reply_matches, "rollouts": rollout_matches}
    with _opened(directory / EVIDENCE_NAME, in_use=True) as evidence:
        return {
            table: sum(map(matches, evidence.execute(f"SELECT * FROM {table} WHERE origin != ''")))
            for table, matches in kinds.items()
        }


def _copy(source: Path, copy: Path, *, found: Path, in_use: bool) -> None:
    """Copy the records of a source as they are found in its evidence, or in a copy of that."""
    with _opened(found, in_use=in_use) as old:
        tables = {str(name) for (name,) in old.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        known_format(old, source / EVIDENCE_NAME, tables=tables)
        with closing(sqlite3.connect(copy, isolation_level=None)) as new:
            prepare(new, copy)
            new.execute("BEGIN IMMEDIATE")
            counts = {table: _copy_table(old, new, table, source=source) for table in _COPIED}
            note(new, _NOTE, json.dumps(asdict(Shared(str(source), **counts))))
            new.execute("COMMIT")


@contextmanager
def _opened(path: Path, *, in_use: bool) -> Generator[sqlite3.Connection]:
    """Open a database without changing it.

    Where it has a write-ahead log, a process is writing or was killed, and what stands in there is read too. Where it
    has none, SQLite would make one, if the file were not said to stand still.
    """
    mode = "mode=ro" if in_use else "mode=ro&immutable=1"
    with closing(sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True)) as connection:
        connection.row_factory = sqlite3.Row
        # One transaction: what a running source adds meanwhile is not seen.
        connection.execute("BEGIN")
        yield connection


def _copy_table(old: sqlite3.Connection, new: sqlite3.Connection, table: str, *, source: Path) -> int:
    count = 0
    for row in _whole_rows(old, table, source=source):
        insert(new, table, {**row, "origin": source.name})
        count += 1
    return count


def _whole_rows(old: sqlite3.Connection, table: str, *, source: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the records of a table, each checked against its checksum; one of the first format gets its own now."""
    for found in old.execute(f"SELECT * FROM {table} ORDER BY rowid"):
        row = dict(found)
        expected = checksum(row["key"], row[RECORDS[table]])
        if row.setdefault("checksum", expected) != expected:
            raise RunDirectoryError(
                f"the evidence of {source} is damaged: a record in {table} is not what was written, by its checksum",
                hint=f"{_UNCHANGED} {damage_advice(source / EVIDENCE_NAME)}",
            )
        yield row
