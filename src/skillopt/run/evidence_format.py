"""The tables of an evidence store, their format's version, and how a file of an older format becomes one of this.

Beside each record stands a checksum of it and of what it is found by, beside each payment one of all of it: a bit that
flips on the disk is found when it is read, and does not quietly become another reply or another bill. The column
`origin` tells whose record it is: "" for what was paid here, else the name of the run directory that it was taken over
from.
"""

from __future__ import annotations

import shlex
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from skillopt.digests import text_digest
from skillopt.errors import RunDirectoryError

FORMAT: Final = "2"
"""Version of the tables; raised with every change that an older reader would misunderstand.

1 had no checksums and no origins, and its payments told neither what they paid for nor whether it was of use.
"""

RECORDS: Final = {"replies": "reply", "trajectories": "trajectory", "rollouts": "rollout", "given_up": "failure"}
"""The tables whose rows are records, and the column of each that holds what was recorded."""

_PLACE_COLUMNS = ("stage", "epoch", "step", "place_index", "attempt")

PAYMENT_COLUMNS: Final = (
    *("role", *_PLACE_COLUMNS, "calls", "fresh_tokens", "cached_tokens", "output_tokens", "dollars", "retries"),
    *("paid_at", "key", "useful"),
)
"""What is written of a payment."""

CHECKED: Final[Mapping[str, tuple[str, ...]]] = {
    **{table: ("key", column) for table, column in RECORDS.items()},
    "given_up": ("key", *_PLACE_COLUMNS, RECORDS["given_up"]),
    "payments": PAYMENT_COLUMNS,
}
"""The columns of each table that its checksum covers: what a row is found by and what is decided on."""

_PLACE = """stage TEXT NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL,
    place_index INTEGER NOT NULL, attempt INTEGER NOT NULL"""

_TABLES = f"""
CREATE TABLE IF NOT EXISTS meta (
    name TEXT PRIMARY KEY, value TEXT NOT NULL, checksum TEXT NOT NULL DEFAULT ''
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS replies (
    key TEXT PRIMARY KEY, role TEXT NOT NULL, {_PLACE},
    request TEXT NOT NULL, reply TEXT NOT NULL, recorded_at TEXT NOT NULL,
    checksum TEXT NOT NULL, origin TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS trajectories (
    key TEXT PRIMARY KEY, trajectory TEXT NOT NULL, recorded_at TEXT NOT NULL,
    checksum TEXT NOT NULL, origin TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS rollouts (
    key TEXT PRIMARY KEY, skill_digest TEXT NOT NULL, task_digest TEXT NOT NULL, repeat INTEGER NOT NULL,
    rollout TEXT NOT NULL, recorded_at TEXT NOT NULL,
    checksum TEXT NOT NULL, origin TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS payments (
    role TEXT NOT NULL, {_PLACE},
    calls INTEGER NOT NULL, fresh_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, dollars REAL, retries INTEGER NOT NULL, paid_at TEXT NOT NULL,
    key TEXT NOT NULL DEFAULT '', useful INTEGER NOT NULL DEFAULT 1, checksum TEXT NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS given_up (
    key TEXT NOT NULL, {_PLACE},
    failure TEXT NOT NULL, recorded_at TEXT NOT NULL, checksum TEXT NOT NULL,
    PRIMARY KEY (key, stage, epoch, step, place_index, attempt)
);
"""


def checksum(key: str, text: str) -> str:
    """Return what stands beside a record, to know it by: 64 hexadecimal digits of its key and its text together."""
    return text_digest(f"{key}\n{text}")


def row_checksum(table: str, row: Mapping[str, object]) -> str:
    """Return what stands beside a record or a payment, to know it by; of a record with a key alone it is `checksum`."""
    return text_digest("\n".join(str(_as_stored(name, row[name])) for name in CHECKED[table]))


def _as_stored(name: str, value: object) -> object:
    """Return a value as it is read again: SQLite knows no booleans, and writes a whole number of dollars as such."""
    if isinstance(value, int):
        return float(value) if name == "dollars" else int(value)
    return value


def note(connection: sqlite3.Connection, name: str, value: str) -> None:
    """Note something of the run under a name; a later note replaces it."""
    row = (name, value, checksum(name, value))
    connection.execute("INSERT OR REPLACE INTO meta (name, value, checksum) VALUES (?, ?, ?)", row)


def insert(
    connection: sqlite3.Connection, table: str, row: Mapping[str, object], *, first_stands: bool = False
) -> None:
    """Write a row, by the names of its columns; where the first one under a key stands, a later one changes nothing."""
    verb, places = "INSERT OR IGNORE" if first_stands else "INSERT", ", ".join("?" * len(row))
    connection.execute(f"{verb} INTO {table} ({', '.join(row)}) VALUES ({places})", tuple(row.values()))


@contextmanager
def transaction(connection: sqlite3.Connection) -> Generator[None]:
    """Write all of the block or nothing of it."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Set a file up, or make sure that it is one of ours; one of an older format is brought to this one.

    Args:
        connection: Open, and in autocommit mode.
        path: The file, for messages.

    Raises:
        RunDirectoryError: If it is another database, or of a format that is not known.
        sqlite3.Error: If it cannot be read or written.
    """
    execute = connection.execute
    tables = _tables(connection)
    if tables:
        # Ahead of the next line, which writes into the file: it may be somebody else's.
        known_format(connection, path, tables=tables)
    execute("PRAGMA journal_mode = WAL")
    execute("PRAGMA synchronous = FULL")
    with transaction(connection):
        tables = _tables(connection)
        if tables and known_format(connection, path, tables=tables) == "1":
            _upgrade_from_1(connection)
        # Tables that came later are made in an older file too.
        for statement in filter(str.strip, _TABLES.split(";")):
            execute(statement)
        execute("INSERT OR IGNORE INTO meta (name, value) VALUES ('format', ?)", (FORMAT,))


def known_format(connection: sqlite3.Connection, path: Path, *, tables: set[str]) -> str:
    """Return the format of a file with these tables.

    Raises:
        RunDirectoryError: If it is another database, or of a format that is not known.
    """
    if "meta" not in tables:
        raise RunDirectoryError(f"{path} is a database, but no evidence store", hint=damage_advice(path))
    row = connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone()
    written = None if row is None else str(row[0])
    if written not in ("1", FORMAT):
        raise RunDirectoryError(
            f"{path} has format {written}; this version of SkillOpt knows the formats 1 to {FORMAT}",
            hint="Use the version of SkillOpt that wrote it, or start a new run directory.",
        )
    return written


def damage_advice(path: Path) -> str:
    """Return what to do about damaged evidence."""
    command = f"skillopt recover {shlex.quote(str(path.parent))}"
    return (
        f"Put back a copy of it, or let `{command}` keep what can be read of it: the damaged file is moved aside, and "
        "only what was lost is paid again. Or move the whole run directory away: it then starts anew."
    )


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def _upgrade_from_1(connection: sqlite3.Connection) -> None:
    execute = connection.execute
    tables = _tables(connection)
    connection.create_function("checksum", 2, checksum, deterministic=True)
    connection.create_function("row_checksum", -1, _row_checksum, deterministic=True)
    if "payments" in tables:
        execute("ALTER TABLE payments ADD COLUMN key TEXT NOT NULL DEFAULT ''")
        execute("ALTER TABLE payments ADD COLUMN useful INTEGER NOT NULL DEFAULT 1")
    for table in sorted(tables & CHECKED.keys()):
        execute(f"ALTER TABLE {table} ADD COLUMN checksum TEXT NOT NULL DEFAULT ''")
        execute(f"UPDATE {table} SET checksum = row_checksum('{table}', {', '.join(CHECKED[table])})")
        if table not in ("given_up", "payments"):
            execute(f"ALTER TABLE {table} ADD COLUMN origin TEXT NOT NULL DEFAULT ''")
    execute("ALTER TABLE meta ADD COLUMN checksum TEXT NOT NULL DEFAULT ''")
    execute("UPDATE meta SET checksum = checksum(name, value) WHERE name != 'format'")
    execute("UPDATE meta SET value = ? WHERE name = 'format'", (FORMAT,))


def _row_checksum(table: str, *values: object) -> str:
    return row_checksum(table, dict(zip(CHECKED[table], values, strict=True)))
