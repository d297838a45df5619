"""Getting out of damaged evidence whatever is whole, on request.

The damaged file is moved aside and never written to. What goes into the new one was recorded: a record counts if its
checksum fits, wherever in the file it is found (`sqlite_pages.py`). What is lost is paid again by the next start; what
the rest of the run directory shows is made anew from the evidence, as always.
"""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from skillopt.disk import check_regular
from skillopt.errors import RunDirectoryError
from skillopt.run.evidence_format import CHECKED, FORMAT, checksum, insert, note, prepare
from skillopt.run.found_rows import TABLES, Found, FoundRows, is_whole
from skillopt.run.lock import locked
from skillopt.run.own_files import DAMAGED, EVIDENCE_NAME, INDEX, LOG, beside, damaged_files
from skillopt.run.sqlite_pages import read_rows


@dataclass(frozen=True, slots=True)
class Recovery:
    """What became of a recovery.

    Attributes:
        evidence: The file.
        aside: What the damaged file is called now; None where nothing was damaged and nothing was changed.
        found: For each kind of record, for the payments and for the notes, what was found.
        lost_identity: Whether a training's records were found and nothing notes any more which run it was.
    """

    evidence: Path
    aside: Path | None
    found: tuple[Found, ...]
    lost_identity: bool = False


def recover(directory: Path) -> Recovery:
    """Make a directory's evidence usable again; evidence that is whole stays as it is.

    Args:
        directory: A run directory, or one of an evaluation.

    Raises:
        RunDirectoryError: If it is a file, another process uses it, there is no evidence, it was written by a newer
            version, nothing in it can be read, or the new file cannot be written.
    """
    evidence = directory / EVIDENCE_NAME
    if directory.is_file():
        hint = f"Name the directory that it is in: {directory.parent}"
        raise RunDirectoryError(f"{directory} is a file, and a whole directory is recovered", hint=hint)
    if not directory.is_dir() or not (evidence.exists() or damaged_files(directory)):
        raise RunDirectoryError(f"{directory} has no {EVIDENCE_NAME}, so there is nothing to recover")
    with locked(directory, command="recover"):
        try:
            return _recover(evidence)
        except OSError as error:
            raise RunDirectoryError(
                f"the evidence in {directory} cannot be recovered: {error.strerror or error} ({error.filename})",
                hint="Make room or give the directory write permission, then run the same command again.",
            ) from error


def _recover(evidence: Path) -> Recovery:
    for end in ("", LOG):
        check_regular(beside(evidence, end))
    source = evidence
    if not evidence.exists():
        # An earlier recovery was stopped between moving the damaged file aside and naming the new one.
        source = damaged_files(evidence.parent)[-1]
        _move(beside(evidence, LOG), beside(source, LOG))
    elif (found := _whole(evidence)) is not None:
        return Recovery(evidence, None, found)
    log = beside(source, LOG)
    rows = FoundRows()
    for row in read_rows(source.read_bytes(), log.read_bytes() if log.exists() else b""):
        rows.add(row)
    if not rows.any_record:
        raise RunDirectoryError(
            f"nothing in {source} can be read as evidence; it was left as it is",
            hint="Put back a copy of it, or move the whole run directory away: it then starts anew and pays again.",
        )
    written = rows.notes.get("format", FORMAT)
    if written not in ("1", FORMAT):
        raise RunDirectoryError(
            f"{source} has format {written}; this version of SkillOpt knows the formats 1 to {FORMAT}",
            hint="Recover it with the version of SkillOpt that wrote it.",
        )
    new = evidence.with_name(f"{EVIDENCE_NAME}.recovered")
    for leftover in (new, beside(new, LOG), beside(new, INDEX)):
        leftover.unlink(missing_ok=True)
    _write(new, rows)
    if source == evidence:
        source = _aside(evidence)
        _move(evidence, source)
        _move(beside(evidence, LOG), beside(source, LOG))
    beside(evidence, INDEX).unlink(missing_ok=True)  # It only tells where in the log a page is.
    new.replace(evidence)
    return Recovery(evidence, source, rows.counts(), rows.lost_identity)


def _whole(evidence: Path) -> tuple[Found, ...] | None:
    """Return what whole evidence holds; None where it is damaged. Looked at is a copy, so that nothing is changed."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / EVIDENCE_NAME
        for end in ("", LOG):
            if beside(evidence, end).exists():
                shutil.copy(beside(evidence, end), beside(copy, end))
        if not copy.stat().st_size:
            return None
        try:
            with closing(sqlite3.connect(copy, isolation_level=None)) as database:
                if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone():
                    return None
                prepare(database, evidence)
                if database.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                    return None
                for table, columns in CHECKED.items():
                    names = (*columns, "checksum")
                    for row in database.execute(f"SELECT {', '.join(names)} FROM {table}"):
                        if not is_whole(table, dict(zip(names, row, strict=True))):
                            return None
                for name, value, written in database.execute("SELECT name, value, checksum FROM meta"):
                    if name != "format" and checksum(name, value) != written:
                        return None
                counts = {name: database.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in TABLES}
                notes = database.execute("SELECT count(*) FROM meta WHERE name != 'format'").fetchone()[0]
        except sqlite3.Error:
            return None
    return (*(Found(table, counts[table]) for table in TABLES), Found("notes", notes))


def _write(path: Path, rows: FoundRows) -> None:
    """Write a new file, with the rows in the order in which they were recorded."""
    try:
        with closing(sqlite3.connect(path, isolation_level=None)) as database:
            prepare(database, path)
            database.execute("BEGIN")
            notes = dict(rows.notes)
            day = rows.first_day()
            if "priced_on" not in notes and day is not None:
                notes["priced_on"] = day
            for name, value in notes.items():
                if name != "format":
                    note(database, name, value)
            for table in TABLES:
                for row in rows.whole(table):
                    insert(database, table, row)
            database.execute("COMMIT")
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        raise RunDirectoryError(
            f"{path} cannot be written: {error}",
            hint="Make room, then run the same command again; nothing was changed.",
        ) from error
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _aside(evidence: Path) -> Path:
    """Return a name for damaged evidence, free for the file and for its log; later ones have higher numbers."""
    names = (re.match(rf"{re.escape(evidence.name)}\.{DAMAGED}-(\d+)", path.name) for path in evidence.parent.iterdir())
    return evidence.with_name(
        f"{evidence.name}.{DAMAGED}-{max((int(name[1]) for name in names if name), default=0) + 1}"
    )


def _move(path: Path, target: Path) -> None:
    """Rename a file, if it is there.

    Raises:
        RunDirectoryError: If the name is taken.
    """
    if not path.exists():
        return
    if os.path.lexists(target):
        raise RunDirectoryError(
            f"{path} belongs to {target.name.removesuffix(LOG)}, and {target.name} is there already",
            hint="Move away the one of the two that does not belong to it, then run the same command again.",
        )
    path.rename(target)
