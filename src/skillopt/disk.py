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
_AGAIN = "then run the same command again."

_ROOM = "Make room on the disk (or raise the quota or size limit)"
_PERMISSION = "Give yourself write permission there (a mounted disk may be read-only)"
_FILE_IN_THE_WAY = "A file stands where a directory should be, or the other way round: move it away"
_TOO_MANY_FILES = "Raise the limit of open files (`ulimit -n`) or lower model.ROLE.concurrency"

_REMEDIES: Mapping[int, str] = {
    errno.ENOSPC: _ROOM,
    errno.EDQUOT: _ROOM,
    errno.EFBIG: _ROOM,
    errno.EACCES: _PERMISSION,
    errno.EPERM: _PERMISSION,
    errno.EROFS: _PERMISSION,
    errno.ENOENT: "A directory is missing that was there: was it moved or removed? Put it back",
    errno.EEXIST: _FILE_IN_THE_WAY,
    errno.ENOTDIR: _FILE_IN_THE_WAY,
    errno.EISDIR: _FILE_IN_THE_WAY,
    errno.EMFILE: _TOO_MANY_FILES,
    errno.ENFILE: _TOO_MANY_FILES,
    errno.EIO: "The disk failed: check it (and its connection, if it is a network disk)",
    errno.ESTALE: "The network disk lost the file: mount it again",
}
_BAD_NAMES: Mapping[int, str] = {
    errno.ENAMETOOLONG: "The path is longer than the system allows: name a shorter one",
    errno.ELOOP: "Symbolic links lead round in a circle there: mend them, or name another place",
}
"""What another try at the same place cannot mend."""
_OTHER = "Mend that"


def is_refusal(error: OSError) -> bool:
    """Whether an error is one that the disk, its permissions or the system's limits explain."""
    return error.errno in _REMEDIES or error.errno in _BAD_NAMES


def refusal(error: OSError, what: str, *, place: str = "", recorded: bool = True) -> RunDirectoryError:
    """Return the error for a person.

    Args:
        error: The system's.
        what: What could not be done, with the path, such as "runs/a/history.json cannot be written".
        place: What a person names the place by, such as `--out`, where another one would do as well; "" for a file of a
            run that has begun, which stays where it is.
        recorded: Whether the same command goes on with what it recorded.
    """
    return RunDirectoryError(
        f"{what}: {error.strerror or error}", hint=_advice(error.errno or 0, place, recorded=recorded)
    )


def _advice(number: int, place: str, *, recorded: bool) -> str:
    if number in _BAD_NAMES:
        return f"{_BAD_NAMES[number]} ({place or 'env.out_root, or --out'})."
    if place and number == errno.ENOENT:
        return f"A directory of that path is missing and cannot be made: name another place ({place})."
    remedy = _REMEDIES.get(number, _OTHER)
    return f"{remedy}, or name another place ({place})." if place else f"{remedy}, {_GO_ON if recorded else _AGAIN}"


@contextmanager
def refused(what: str, *, place: str = "") -> Generator[None]:
    """Turn what the system refuses in the block into an error for a person.

    Args:
        what: What could not be done, with the path.
        place: What a person names the place by, where another one would do as well.

    Raises:
        RunDirectoryError: In place of any `OSError`.
    """
    try:
        yield
    except OSError as error:
        raise refusal(error, what, place=place) from error


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
