"""One process at a time works in a run directory: a second one would pay for the same calls and write the same files.

The lock is the operating system's, by way of an empty SQLite file, so that it is the same on every system and goes when
its process goes, however it ends. A file that is held can be removed, but for Windows, and whoever comes then makes and
holds a new one: so the directory itself is held too, where the system and the disk can. While the lock is held nobody
can read it, so who holds it stands in a small file beside it. That file is only ever shown: what was left by a process
that was killed keeps nobody out.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import sqlite3
import sys
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path

from skillopt.disk import another_directory
from skillopt.errors import RunDirectoryError
from skillopt.run.processes import beginning, is_running
from skillopt.text_files import never_made_anew, write_text_atomically

LOCK_NAME = "run.lock"
HOLDER_NAME = "run.lock.json"

_LONGEST_NOTE = 2**16
"""Bytes of it that are read."""

_ADVICE: Mapping[str, str] = {
    "SQLITE_CANTOPEN": "The directory must exist and be writable, and run.lock in it be a file.",
    "SQLITE_READONLY": "The directory and run.lock in it must be writable.",
    "SQLITE_PERM": "The directory and run.lock in it must be writable.",
    "SQLITE_NOTADB": "That is no file of ours: move it away, or name another directory.",
    "SQLITE_IOERR": "The disk failed, or cannot lock files, as some network disks: name a directory on another one.",
    "SQLITE_FULL": "Make room on the disk, then run the same command again.",
}
_OTHER_ADVICE = "Nothing is kept in that file: remove it while no command works in the directory, and start again."


@dataclass(frozen=True, slots=True)
class Holder:
    """Who works in a directory.

    Attributes:
        command: The command: train, eval or noise.
        process: Its process id.
        host: The machine it runs on.
        since: When it began, as the clock said there; UTC.
        began: What tells the process from others of its number (`processes.py`); "" where the system does not say.
        directory: The directory, absolute, as it was called when the work began; "" where nobody noted it.
    """

    command: str
    process: int
    host: str
    since: str
    began: str = ""
    directory: str = ""


@contextmanager
def locked(directory: Path, *, command: str) -> Generator[None]:
    """Hold a run directory for the length of the block, in which nothing makes it anew.

    Args:
        directory: The directory, which exists.
        command: What holds it, for the message that whoever comes second gets: train, eval or noise.

    Raises:
        RunDirectoryError: If something else holds it, in this process or another one, or it cannot be locked. Whoever
            writes a file below it in the block gets one too, where it was moved or removed.
    """
    path = directory / LOCK_NAME
    try:
        connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    except sqlite3.Error as error:
        raise _unusable(path, error) from error
    with closing(connection):
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            if _name(error).startswith("SQLITE_BUSY"):
                raise _in_use(directory) from None
            raise _unusable(path, error) from error
        with _held(directory), never_made_anew(directory), _noted(directory, command):
            yield


@contextmanager
def _held(directory: Path) -> Generator[None]:
    """Hold the directory itself, which keeps others out also where its lock file was removed meanwhile.

    Windows removes no file that is held, and some network disks lock no directory: there the lock file stands alone.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    with contextlib.ExitStack() as opened:
        try:
            descriptor = os.open(directory, os.O_RDONLY)
            opened.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _in_use(directory) from None
        except OSError:
            pass  # This disk cannot, or the directory may not be read.
        yield


@contextmanager
def _noted(directory: Path, command: str) -> Generator[None]:
    """Say beside the lock who holds it."""
    note = directory / HOLDER_NAME
    # The lock holds without the note; a disk that cannot take it is reported by whatever is written next.
    with contextlib.suppress(RunDirectoryError):
        write_text_atomically(note, json.dumps(asdict(_this_process(command, directory))) + "\n", durable=False)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            note.unlink(missing_ok=True)


def read_holder(directory: Path) -> Holder | None:
    """Return who holds a directory, as far as the file beside the lock can be believed; None where it cannot."""
    holder = _read_note(directory)
    if holder is None or holder.host != socket.gethostname():
        return holder
    # It is written just after the lock is taken, so for a moment it may be that of a process that was killed.
    if not is_running(holder.process, began=holder.began):
        return None
    # Whoever copies a directory that is worked in copies the note: the process works in the other one.
    original = another_directory(holder.directory, than=directory)
    return None if original is not None and _read_note(original) == holder else holder


def _read_note(directory: Path) -> Holder | None:
    note = directory / HOLDER_NAME
    try:
        if not note.is_file():  # To read a pipe or a device may wait for ever.
            return None
        with note.open("rb") as file:
            told = json.loads(file.read(_LONGEST_NOTE))
        known = {field.name: told[field.name] for field in fields(Holder) if field.name in told}
        words = all(isinstance(value, str) for name, value in known.items() if name != "process")
        return Holder(**known) if words else None
    except (OSError, ValueError, TypeError, RecursionError):
        return None


def _this_process(command: str, directory: Path) -> Holder:
    since = datetime.now(UTC).isoformat(sep=" ", timespec="seconds")
    process = os.getpid()
    return Holder(command, process, socket.gethostname(), since, beginning(process), str(directory.resolve()))


def _in_use(directory: Path) -> RunDirectoryError:
    holder = read_holder(directory)
    if holder is None:
        who, stop = "another process works in it", "stop it"
    else:
        who = (
            f"`skillopt {holder.command}` works in it since {holder.since} (process {holder.process} on {holder.host})"
        )
        stop = f"stop it there (kill {holder.process}; it ends in order)"
    return RunDirectoryError(
        f"{directory} is in use: {who}",
        hint=f"Wait for it, {stop}, or name another directory: env.out_root of a training, --out of eval and noise.",
    )


def _unusable(path: Path, error: sqlite3.Error) -> RunDirectoryError:
    advice = next((text for start, text in _ADVICE.items() if _name(error).startswith(start)), _OTHER_ADVICE)
    return RunDirectoryError(f"{path} cannot be locked: {error}", hint=advice)


def _name(error: sqlite3.Error) -> str:
    return getattr(error, "sqlite_errorname", "")
