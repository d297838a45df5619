"""What SQLite says of the evidence's file or its disk, as an error for a person."""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from skillopt.errors import RunDirectoryError
from skillopt.run.evidence_format import damage_advice

_DISK_ADVICE = {
    "SQLITE_FULL": "Free some space on the disk and start again: nothing that was recorded is lost.",
    "SQLITE_IOERR": "Check the disk and its free space, and start again: nothing that was recorded is lost.",
    "SQLITE_READONLY": "The run directory, this file and those beside it that begin with its name must be writable.",
    "SQLITE_CANTOPEN": "The run directory must exist and be writable, and not too many files be open (`ulimit -n`).",
    "SQLITE_BUSY": "Another process is using this run; wait for it or stop it.",
    "SQLITE_LOCKED": "Another process is using this run; wait for it or stop it.",
}


@contextmanager
def guarded(path: Path) -> Generator[None]:
    """Turn what SQLite raises in the block into an error that says what to do.

    Args:
        path: The evidence, for the message.

    Raises:
        RunDirectoryError: If the file or its disk refuses, or the file is damaged or in use.
    """
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # A mistake in this program, such as use after closing.
    except sqlite3.Error as error:
        name = getattr(error, "sqlite_errorname", "")
        advice = next((text for start, text in _DISK_ADVICE.items() if name.startswith(start)), damage_advice(path))
        raise RunDirectoryError(f"the evidence in {path} cannot be used: {error}", hint=advice) from error
