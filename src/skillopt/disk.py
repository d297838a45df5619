"""What a disk, a directory or the system's limits can refuse, said as an error for a person: what, where, what to do.

It only names and advises. Whoever writes decides what a failure ends.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from skillopt.errors import RunDirectoryError

_GO_ON = "then run the same command again: it goes on with what was recorded."

_ROOM = f"Make room on the disk (or raise the quota or size limit), {_GO_ON}"
_PERMISSION = f"Give yourself write permission there (a mounted disk may be read-only), {_GO_ON}"
_FILE_IN_THE_WAY = f"A file stands where a directory should be, or the other way round: move it away, {_GO_ON}"
_TOO_MANY_FILES = f"Raise the limit of open files (`ulimit -n`) or lower model.ROLE.concurrency, {_GO_ON}"

_ADVICE: Mapping[int, str] = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: _ROOM,
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EROFS: _PERMISSION,
    errno.ENOENT: f"A directory is missing that was there: was it moved or removed? Put it back, {_GO_ON}",
    errno.EEXIST: _FILE_IN_THE_WAY,
    errno.ENOTDIR: _FILE_IN_THE_WAY,
    errno.EISDIR: _FILE_IN_THE_WAY,
    errno.ENAMETOOLONG: "The path is longer than the system allows: name a shorter one (env.out_root, or --out).",
    errno.ELOOP: "Symbolic links lead round in a circle there: mend them, or name another directory.",
    errno.EMFILE: _TOO_MANY_FILES,
    errno.ENFILE: _TOO_MANY_FILES,
    errno.EIO: f"The disk failed: check it (and its connection, if it is a network disk), {_GO_ON}",
    errno.ESTALE: f"The network disk lost the file: mount it again, {_GO_ON}",
}
_OTHER = f"Mend that, {_GO_ON}"


def is_refusal(error: OSError) -> bool:
    """Whether an error is one that the disk, its permissions or the system's limits explain."""
    return error.errno in _ADVICE


def refusal(error: OSError, what: str) -> RunDirectoryError:
    """Return the error for a person.

    Args:
        error: The system's.
        what: What could not be done, with the path, such as "runs/a/history.json cannot be written".
    """
    return RunDirectoryError(f"{what}: {error.strerror or error}", hint=_ADVICE.get(error.errno or 0, _OTHER))


@contextmanager
def refused(what: str) -> Generator[None]:
    """Turn what the system refuses in the block into an error for a person.

    Raises:
        RunDirectoryError: In place of any `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise refusal(error, what) from error


def check_regular(path: Path) -> None:
    """Return if a path leads to a regular file or to nothing: to open a pipe or a device may wait for ever.

    Raises:
        RunDirectoryError: If it leads to anything else.
    """
    if path.exists() and not path.is_file():
        raise RunDirectoryError(f"{path} cannot be written: it is no regular file", hint=f"Move it away, {_GO_ON}")


def another_directory(noted: str, *, than: Path) -> Path | None:
    """Return a directory that a file notes as its own, where that is there and is another one than it lies in.

    Then the file may be a copy. Where nothing is there any more, the file was moved with its directory.

    Args:
        noted: The directory's absolute path, as the file has it: anything may stand there; "" where nothing was noted.
        than: Where the file lies.
    """
    try:
        path = Path(noted)
        return None if not noted or path.samefile(than) or not path.is_dir() else path
    except (OSError, ValueError):
        return None


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file that is open, and the path that shall still lead to it.

    A file that is moved or removed, alone or with its directory, goes on living as long as it is open. What is written
    into it then is lost without a word, so whoever writes asks.
    """

    path: Path
    device: int
    inode: int

    @classmethod
    def at(cls, path: Path) -> Self:
        """Return the file that a path leads to now."""
        status = path.stat()
        return cls(path, status.st_dev, status.st_ino)

    def check_in_place(self) -> None:
        """Return if the path still leads to the file.

        Raises:
            RunDirectoryError: If it does not.
        """
        with contextlib.suppress(OSError):
            if type(self).at(self.path) == self:
                return
        raise RunDirectoryError(
            f"{self.path} is gone: the directory was moved or removed while a command worked in it",
            hint="Put it back, or name its new place, then run the same command again. What was removed is paid again.",
        )
