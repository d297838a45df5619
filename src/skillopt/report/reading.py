"""Reading files of one directory and of no other: no name, link or hostile byte is a way out of it.

It knows how a file becomes a checked value, and nothing of what a run directory holds.
"""

from __future__ import annotations

import csv
import io
import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from skillopt.errors import RunDirectoryError

MOST_BYTES: Final = 2**28
"""Of a file that is read whole: the rows of a hundred thousand long replies; one beyond it is no view of a run."""

WAY_OUT = "Run the same training once more: it writes the file anew from the evidence and pays nothing."

_Value = TypeVar("_Value")
_Default = TypeVar("_Default")


class DirectoryReader:
    """Reads files below a directory.

    Args:
        root: The directory, without links (`Path.resolve`).
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def names(self, place: str, pattern: re.Pattern[str]) -> tuple[str, ...]:
        """Return the names in a directory that match a pattern from end to end, sorted; none where it is missing.

        Numbers in them count as numbers, so that step 10000 follows step 9999.
        """
        directory = self._inside(place)
        try:
            found = [entry.name for entry in directory.iterdir()] if directory is not None else []
        except NotADirectoryError:
            return ()
        except OSError as error:
            raise RunDirectoryError(f"{directory} cannot be read: {error.strerror or error}") from error
        return tuple(sorted((name for name in found if pattern.fullmatch(name)), key=_numbered))

    def text(self, place: str) -> str | None:
        """Return the text of a file, its line ends as they are; None where there is none.

        Raises:
            RunDirectoryError: If it cannot be read, is no regular file or no UTF-8, or lies outside of the directory.
        """
        content = self.content(place)
        try:
            return None if content is None else content.decode("utf-8")
        except UnicodeDecodeError as error:
            path = self.root / place
            raise RunDirectoryError(f"{path} is no UTF-8 text (byte {error.start})", hint=WAY_OUT) from error

    def content(self, place: str, *, last: int | None = None) -> bytes | None:
        """Return the bytes of a file, or the last so many of them; None where there is none.

        Raises:
            RunDirectoryError: If it cannot be read, is no regular file, is larger than `MOST_BYTES`, or lies outside of
                the directory.
        """
        path = self._inside(place)
        if path is None:
            return None
        try:
            # A pipe or a device would be waited for without an end.
            if not stat.S_ISREG(path.stat().st_mode):
                raise RunDirectoryError(f"{path} is no regular file", hint="Remove it. " + WAY_OUT)
            with path.open("rb") as file:
                size = file.seek(0, io.SEEK_END)
                if last is None and size > MOST_BYTES:
                    raise RunDirectoryError(
                        f"{path} is too large: {size:,} bytes, and at most {MOST_BYTES:,} are read", hint=WAY_OUT
                    )
                file.seek(0 if last is None else max(0, size - last))
                return file.read(MOST_BYTES if last is None else last)
        except OSError as error:
            raise RunDirectoryError(f"{path} cannot be read: {error.strerror or error}") from error

    def value(self, place: str, shape: TypeAdapter[_Value], default: _Default) -> _Value | _Default:
        """Return the checked value of a JSON file; `default` where there is none.

        Raises:
            RunDirectoryError: If it cannot be read, or holds something else.
        """
        text = self.text(place)
        return default if text is None else self._checked(place, text, _from_json, shape)

    def table(self, place: str, shape: TypeAdapter[_Value], default: _Default) -> _Value | _Default:
        """Return the checked rows of a CSV file, each by its column names; `default` where there is none.

        Raises:
            RunDirectoryError: If it cannot be read, or holds something else.
        """
        text = self.text(place)
        return default if text is None else self._checked(place, text, _from_csv, shape)

    def _checked(self, place: str, text: str, parse: Callable[[str], object], shape: TypeAdapter[_Value]) -> _Value:
        try:
            return shape.validate_python(parse(text))
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            where = ".".join(map(str, first["loc"])) or "the whole"
            reason = f"{where}: {first['msg']}"
        except (ValueError, RecursionError, csv.Error) as error:
            reason = f"{type(error).__name__}: {error}"
        raise RunDirectoryError(
            f"{self.root / place} is nothing that this version of SkillOpt can read: {reason}", hint=WAY_OUT
        )

    def _inside(self, place: str) -> Path | None:
        """Return the path of a place, None where nothing is there.

        Raises:
            RunDirectoryError: If it is not below the directory, be it by its name or by a link on the way.
        """
        try:
            path = (self.root / place).resolve(strict=True)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, RuntimeError) as error:
            raise RunDirectoryError(f"{self.root / place} cannot be read: {error}") from error
        if not path.is_relative_to(self.root):
            raise RunDirectoryError(
                f"{self.root / place} lies outside of the run directory: links out of it are not followed",
                hint="Put a copy in the place of the link.",
            )
        return path


def _from_json(text: str) -> object:
    value: object = json.loads(text)
    if "\\ud" in text.casefold():  # half of a surrogate pair, which no text of a page can hold
        value = json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    return value


def _from_csv(text: str) -> object:
    return list(csv.DictReader(io.StringIO(text)))


def _numbered(name: str) -> tuple[tuple[int, str], ...]:
    parts = re.split(r"(\d+)", name)
    return tuple((int(part), "") if part.isdecimal() and part.isascii() else (0, part) for part in parts)
