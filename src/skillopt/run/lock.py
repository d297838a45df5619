"""One process at a time plays a run: a second one would pay for the same calls and write the same files.

The lock is the operating system's, by way of an empty SQLite file, so that it is the same on every system and goes when
its process goes, however it ends.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

from skillopt.errors import RunDirectoryError

LOCK_NAME = "run.lock"


@contextmanager
def locked(directory: Path) -> Generator[None]:
    """Hold a run directory for the length of the block.

    Raises:
        RunDirectoryError: If another run holds it, in this process or another one, or it cannot be written.
    """
    path = directory / LOCK_NAME
    try:
        connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    except sqlite3.Error as error:
        raise RunDirectoryError(f"{path} cannot be opened: {error}") from error
    with closing(connection):
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if getattr(error, "sqlite_errorname", "").startswith("SQLITE_BUSY"):
                raise RunDirectoryError(
                    f"{directory} is in use: another process is playing this run",
                    hint="Wait for it or stop it, or name another directory in env.out_root.",
                ) from None
            raise RunDirectoryError(f"{path} cannot be locked: {error}") from error
        yield
