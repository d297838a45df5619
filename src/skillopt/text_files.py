"""Files that people read: written whole or not at all, as UTF-8, under names that are safe everywhere.

Foreign text in them moves no cursor and sets no colour in the terminal of whoever looks at them (`plain`). Nothing here
knows what the files hold or where in a run directory they stand.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import unicodedata
from collections.abc import Callable, Generator
from contextvars import ContextVar
from pathlib import Path

from skillopt.digests import text_digest
from skillopt.disk import OpenedFile, refused

_READABLE_LENGTH = 40
"""Most characters of an identifier that its file name shows; below every file system's limit even at 4 bytes each."""

_NAME_LENGTH = 60
"""Most characters of a directory's name that say what a person called a thing."""

_DIGEST_LENGTH = 12
"""Hexadecimal digits that tell file names apart."""

_written: ContextVar[set[str] | None] = ContextVar("written", default=None)

_kept: ContextVar[frozenset[OpenedFile]] = ContextVar("kept", default=frozenset())

_NOT_PLAIN_ASCII = re.compile(r"[^\n\t -~]")
_MOVING = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp"])
"""Categories of characters that act on what shows them."""
_PARTIAL_NAME = re.compile(r"\.[0-9a-f]{16}\.partial")


def write_text_atomically(path: Path, text: str, *, durable: bool = True, place: str = "") -> None:
    r"""Write a file so that a reader, or the next start after a crash, finds the old text or the new one, never half.

    Missing parent directories are made, but for one that is worked in (`never_made_anew`). Line ends are written as
    they stand in the text, so a skill that came with `\r\n` keeps it; what we write ourselves ends its lines with `\n`.
    A lone surrogate, which UTF-8 cannot hold, is written as its escape. A file that holds the text already is left
    alone, so that a replay costs no writing.

    Args:
        path: The file.
        text: What it shall hold.
        durable: Whether the text is on disk when this returns, whatever happens to the machine. Waiting for the disk
            takes milliseconds a file: too long for the many small pages of a run that can be made again at any time.
        place: What a person names the place by, such as `--out`, for an error's advice; "" for a file of a run.

    Raises:
        RunDirectoryError: If the file cannot be written, with the path and the system's reason, or if the directory
            that is worked in was moved or removed.
    """
    write_bytes_atomically(path, text.encode("utf-8", "backslashreplace"), durable=durable, place=place)


def write_bytes_atomically(path: Path, content: bytes, *, durable: bool = True, place: str = "") -> None:
    """Write a file of bytes, such as a picture, whole or not at all; `write_text_atomically` says how.

    Raises:
        RunDirectoryError: If the file cannot be written, with the path and the system's reason.
    """
    for directory in _kept.get():
        if path.is_relative_to(directory.path):
            directory.check_in_place()
    written = _written.get()
    if written is not None:
        written.add(_as_files_are_named(path))
    if _holds(path, content):
        return
    # In the same directory, since a rename is atomic only within a file system.
    partial = path.with_name(f".{secrets.token_hex(8)}.partial")
    with refused(f"{path} cannot be written", place=place):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with partial.open("xb") as file:
                file.write(content)
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:
            # What stopped the writing may also keep the half from being removed; the next start does it.
            with contextlib.suppress(OSError):
                partial.unlink(missing_ok=True)
            raise
        if durable:
            _sync_directory(path.parent)


def write_json_atomically(path: Path, value: object) -> None:
    """Write a JSON value for people: keys in their order, two spaces a level, a newline at the end.

    Unicode stands as it is but for control characters, which are written as escapes: the value is the same.

    Raises:
        RunDirectoryError: If the file cannot be written.
        ValueError: For NaN or an infinity, which have no JSON form.
        TypeError: For a value that JSON cannot hold.
    """
    text = json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)
    # Outside of its texts, JSON holds no control character but the line end.
    write_text_atomically(path, _replaced(text, lambda char: json.dumps(char)[1:-1]) + "\n")


@contextlib.contextmanager
def holding_nothing_else(directory: Path, ours: Callable[[Path], bool]) -> Generator[None]:
    """Remove from a directory, at the end of the block, every file of ours that was not written in the block.

    What an earlier writer left there would pass for something of this one. Nothing is removed first, so a writer that
    is killed again and again gets further each time. Where the block fails, everything stays.

    Args:
        directory: The directory.
        ours: Whether a file is one that the block could have written.
    """
    written: set[str] = set()
    token = _written.set(written)
    try:
        yield
    finally:
        _written.reset(token)
    for path in directory.rglob("*"):
        if ours(path) and _as_files_are_named(path) not in written and (path.is_symlink() or not path.is_dir()):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def never_made_anew(directory: Path) -> Generator[None]:
    """Write below a directory, for the length of the block, only while it is the one that it was at the beginning.

    Where it is moved or removed, what is written later would make a part of it anew in its old place.

    Args:
        directory: The directory, which exists.

    Raises:
        RunDirectoryError: If it cannot be looked at. Whoever writes below it gets the error too, where it is gone.
    """
    with refused(f"{directory} cannot be used"):
        opened = OpenedFile.at(directory)
    _kept.set(_kept.get() | {opened})
    try:
        yield
    finally:
        # By name and without a token: the block may end in another context, or after one that began later.
        _kept.set(_kept.get() - {opened})


def remove_partial_files(directory: Path) -> None:
    """Remove what a process that was killed while it wrote has left in a directory or below it.

    Nobody else may be writing there.

    Raises:
        RunDirectoryError: If one cannot be removed.
    """
    with refused(f"{directory} cannot be cleared of half-written files"):
        for path in directory.rglob(".*.partial"):
            if _PARTIAL_NAME.fullmatch(path.name):
                path.unlink(missing_ok=True)


def plain(text: str) -> str:
    """Return text from a task, a model or a file without control characters: it moves no cursor and sets no colour.

    Nor does it turn the direction of what stands beside it, or begin a line but by a line end.
    """
    return _replaced(text, lambda _: "\N{REPLACEMENT CHARACTER}")


def readable_name(text: str) -> str:
    """Return what names a thing, such as `provider:model`, as a part of a directory's name: at most 60 characters."""
    return "".join(char if char.isalnum() or char in "-._" else "_" for char in text)[:_NAME_LENGTH]


def safe_name(identifier: str) -> str:
    """Return a file name for any identifier: a readable beginning and a digest of the whole, at most 53 characters.

    Identifiers that differ in anything, be it letter case, Unicode form or their far end, get names that differ on
    every file system. The name has no separator, dot or control character, so it is no path, no hidden file and none of
    the names that Windows keeps for itself.
    """
    text = unicodedata.normalize("NFC", identifier)[:_READABLE_LENGTH]
    # Marks (category M) are no letters, but without them words of many scripts could not be read.
    kept = "".join(char if char.isalnum() or unicodedata.category(char)[0] == "M" else "_" for char in text)
    return f"{kept.strip('_') or 'id'}-{text_digest(identifier)[:_DIGEST_LENGTH]}"


def _replaced(text: str, replacement: Callable[[str], str]) -> str:
    """Return the text without control and format characters and half surrogate pairs; tabs and line ends stay.

    The two separators of lines and paragraphs that are no line ends are replaced as well.
    """

    def judged(found: re.Match[str]) -> str:
        return replacement(found[0]) if unicodedata.category(found[0]) in _MOVING else found[0]

    return _NOT_PLAIN_ASCII.sub(judged, text)


def _holds(path: Path, content: bytes) -> bool:
    try:
        return path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content
    except OSError:
        return False


def _as_files_are_named(path: Path) -> str:
    """Return a path as every file system tells names apart: some keep neither letter case nor Unicode form."""
    return unicodedata.normalize("NFC", str(path)).casefold()


def _sync_directory(directory: Path) -> None:
    """Make a rename survive a power cut, where the system has directories that can be synced."""
    if os.name != "posix":
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        # Some network file systems refuse to sync a directory; the file is in its place all the same.
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)
