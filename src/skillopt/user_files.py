"""Files that a person names: opened in one way, so that none of them hangs, fills the memory or ends in a traceback.

Configurations, task files, manifests, skills and Python files all come through here. Only regular files are read: a
pipe, a device or a socket might never end. A link is its owner's own and is followed; messages say where it leads. Each
kind of file has a most size, and a file that grows beyond it while it is read is stopped there too. What the text means
is the caller's business, and so is the kind of error: `UnusableFile` is raised here and turned into one of ours there.
"""

from __future__ import annotations

import codecs
import io
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, cast

_CHUNK = 1 << 20
_LIKE_ENOUGH = 60.0
"""Similarity, 0 to 100, from which another name in the directory is worth telling."""

_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (lambda mode: stat.S_ISCHR(mode) or stat.S_ISBLK(mode), "a device"),
)
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class UnusableFile(Exception):
    """A file cannot be read.

    Attributes:
        reason: Why, as the rest of a sentence that begins with the file, such as "does not exist".
        hint: What to do about it; "" where the reason says it.
    """

    def __init__(self, reason: str, hint: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.hint = hint


def open_user_file(path: Path, *, most_bytes: int) -> io.BufferedReader:
    """Open a regular file for reading its bytes.

    Args:
        path: The file; a link is followed.
        most_bytes: Most bytes that it may have. The bound holds for what is read, whatever the system says of its size.

    Raises:
        UnusableFile: If it is missing, no regular file, too large, or may not be read; also by reading from it.
    """
    led = f"is a link to {os.path.realpath(path)}, which " if _is_link(path) else ""
    try:
        _refuse(path.stat(), led=led, most_bytes=most_bytes)
        # Should a pipe have taken the file's place meanwhile, opening it does not wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise UnusableFile(f"{led}does not exist", _nearby(path)) from None
    except (OSError, ValueError) as error:
        raise UnusableFile(f"{led}cannot be read: {getattr(error, 'strerror', None) or error}") from None
    file = os.fdopen(descriptor, "rb", buffering=0)
    try:
        _refuse(os.fstat(descriptor), led=led, most_bytes=most_bytes)
    except BaseException:
        file.close()
        raise
    return io.BufferedReader(_Bounded(file, most_bytes), buffer_size=1 << 16)


def read_user_file(path: Path, *, most_bytes: int) -> bytes:
    """Return the bytes of a file; see `open_user_file`.

    Raises:
        UnusableFile: If it cannot be read.
    """
    with open_user_file(path, most_bytes=most_bytes) as file:
        return file.read()


def read_user_text(path: Path, *, most_bytes: int) -> str:
    """Return the text of a UTF-8 file, a byte order mark and line ends as they stand; see `open_user_file`.

    Raises:
        UnusableFile: If it cannot be read or is not UTF-8; the reason says on which line.
    """
    content = read_user_file(path, most_bytes=most_bytes)
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise not_utf8(path, most_bytes=most_bytes) from None


def is_directory(path: Path) -> bool:
    """Tell whether a path is a directory, or a link to one; what cannot be looked at is none."""
    try:
        return path.is_dir()
    except (OSError, ValueError):  # Such as a name that is longer than the system takes.
        return False


def entries(directory: Path) -> list[Path]:
    """Return what a directory holds, in the order of the names.

    Raises:
        UnusableFile: If it cannot be read.
    """
    try:
        return sorted(directory.iterdir())
    except OSError as error:
        raise UnusableFile(f"cannot be read: {error.strerror or error}") from None


def not_utf8(path: Path, *, most_bytes: int) -> UnusableFile:
    """Return what is wrong with a file that did not decode as UTF-8, with the line; read anew, a piece at a time."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, start = 1, b""
    with open_user_file(path, most_bytes=most_bytes) as file:
        while piece := file.read(_CHUNK):
            start = start or piece[:2]
            try:
                decoder.decode(piece)
            except UnicodeDecodeError as error:
                # What was left of the piece before stands at the beginning, and holds no line end.
                line += error.object[: error.start].count(b"\n")
                break
            line += piece.count(b"\n")
    hint = "It looks like UTF-16; save it as UTF-8." if start in _UTF_16 else "Save it as UTF-8."
    return UnusableFile(f"is not UTF-8 text (line {line})", hint)


class _Bounded(io.RawIOBase):
    """The bytes of a file, up to a bound."""

    def __init__(self, file: io.FileIO | BinaryIO, most_bytes: int) -> None:
        self._file = file
        self._most = self._left = most_bytes

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        try:
            count = cast("int | None", self._file.readinto(buffer))  # type: ignore[union-attr]
        except OSError as error:
            raise UnusableFile(f"cannot be read: {error.strerror or error}") from None
        if count is None:
            raise UnusableFile("cannot be read: nothing comes from it")
        self._left -= count
        if self._left < 0:
            raise _too_large(f"more than {self._most:,}", self._most)
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def _refuse(status: os.stat_result, *, led: str, most_bytes: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for is_kind, name in _KINDS if is_kind(status.st_mode)), "no regular file")
        raise UnusableFile(f"{led}is {kind} and not a file", "Name a file that can be read to its end.")
    if status.st_size > most_bytes:
        raise _too_large(f"{status.st_size:,}", most_bytes, led=led)


def _too_large(size: str, most_bytes: int, *, led: str = "") -> UnusableFile:
    return UnusableFile(f"{led}is too large: {size} bytes, and at most {most_bytes:,} are read")


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except (OSError, ValueError):
        return False


def _nearby(path: Path) -> str:
    from rapidfuzz import fuzz, process

    try:
        names = sorted(entry.name for entry in path.parent.iterdir() if entry.name != path.name)
    except OSError:
        return f"The directory {path.parent} does not exist either."
    found = process.extractOne(path.name, names, scorer=fuzz.ratio, score_cutoff=_LIKE_ENOUGH)
    return f"Did you mean {path.with_name(found[0])}?" if found else ""
