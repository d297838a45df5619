"""Decodes JSON from an open file bit by bit, so that a list of any length needs the memory of one element.

Stricter than the standard library: NaN, infinities, a key given twice and deep nesting are errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NoReturn, TextIO

from skillopt.types import JsonValue

_CHUNK = 1 << 16
MOST_CHARACTERS = 1 << 24
"""Most characters of one task; far more than a model reads."""

_DEEPEST = 100
"""Most levels of lists and objects within one task."""

_NEAR_THE_END = 16
"""Characters at the end of what has been read within which an error may only mean that the rest is still to come."""

_SPACE = re.compile(r"[ \t\n\r]*")


class JsonProblem(Exception):
    """The text is not the JSON that is needed; `line` is where, from 1."""

    def __init__(self, text: str, line: int = 1) -> None:
        super().__init__(text)
        self.line = line


def decode_value(text: str) -> JsonValue:
    """Decode a text that is one JSON value.

    Raises:
        JsonProblem: With the column, if it is not.
    """
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonProblem(f"column {error.colno}: not valid JSON: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise JsonProblem(_reason(error)) from None
    _check_depth(value)
    return value


class JsonStream:
    """A position in a JSON text that is read as it is needed."""

    def __init__(self, file: TextIO) -> None:
        self.line = 1
        self._file = file
        self._buffer = ""
        self._position = 0
        self._ended = False

    def peek(self) -> str:
        """Skip white space and return the next character without taking it; "" at the end of the file."""
        while True:
            self._take(_SPACE.match(self._buffer, self._position))
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._read(_CHUNK):
                return ""

    def array(self) -> Iterator[tuple[int, JsonValue]]:
        """Take a list and yield the line and the value of each element."""
        self._expect("[")
        if self._accept("]"):
            return
        while True:
            self.peek()
            yield self.line, self.value()
            if self._accept("]"):
                return
            self._expect(",")

    def entries(self) -> Iterator[tuple[int, str]]:
        """Take an object and yield the line and the name of each key; the caller takes the key's value."""
        self._expect("{")
        if self._accept("}"):
            return
        seen: set[str] = set()
        while True:
            if self.peek() != '"':
                self._fail("a key in quotes is needed")
            line, key = self.line, self.value()
            assert isinstance(key, str)
            if key in seen:
                self._fail(f"the key {key!r} stands here a second time")
            seen.add(key)
            self._expect(":")
            self.peek()
            yield line, key
            if self._accept("}"):
                return
            self._expect(",")

    def value(self) -> JsonValue:
        """Take one whole value."""
        self.peek()
        size = _CHUNK
        while True:
            try:
                decoded: tuple[JsonValue, int] = _DECODER.raw_decode(self._buffer, self._position)
            except json.JSONDecodeError as error:
                if self._may_go_on(error) and self._read(size):
                    if len(self._buffer) > MOST_CHARACTERS:
                        self._fail(f"a value of more than {MOST_CHARACTERS:,} characters; that is no task")
                    size *= 2  # so that a large value is not decoded from its start too often
                    continue
                self.line += self._buffer.count("\n", self._position, error.pos)
                self._fail(f"not valid JSON: {error.msg}")
            except (RecursionError, ValueError) as error:
                self._fail(_reason(error))
            value, end = decoded
            # A number may go on in what is not read yet; lists, objects and texts say themselves where they end.
            open_ended = not isinstance(value, dict | list | str) and end > len(self._buffer) - _NEAR_THE_END
            if open_ended and self._read(size):
                continue
            try:
                _check_depth(value)
            except JsonProblem as problem:
                self._fail(str(problem))
            self.line += self._buffer.count("\n", self._position, end)
            self._position = end
            return value

    def _may_go_on(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - _NEAR_THE_END

    def _accept(self, char: str) -> bool:
        if self.peek() != char:
            return False
        self._position += 1
        return True

    def _expect(self, char: str) -> None:
        if not self._accept(char):
            found = self.peek()
            self._fail(f"{char!r} is needed, not {found!r}" if found else f"the file ends where {char!r} is needed")

    def _take(self, match: re.Match[str] | None) -> None:
        assert match is not None
        self.line += self._buffer.count("\n", self._position, match.end())
        self._position = match.end()

    def _read(self, size: int) -> bool:
        more = "" if self._ended else self._file.read(size)
        if not more:
            self._ended = True
            return False
        self._buffer = self._buffer[self._position :] + more
        self._position = 0
        return True

    def _fail(self, text: str) -> NoReturn:
        raise JsonProblem(text, self.line)


def _check_depth(value: JsonValue) -> None:
    level: list[JsonValue] = [value]
    for _ in range(_DEEPEST):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return
    raise JsonProblem(f"more than {_DEEPEST} levels of lists and objects")


def _inside(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []


def _reason(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def _without_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {repeated!r} stands twice in one object")
    return values


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


_DECODER = json.JSONDecoder(object_pairs_hook=_without_repeated_keys, parse_constant=_refuse_constant)
