"""Reads the rows of a task file, one at a time: JSON, JSONL, CSV or TSV, as UTF-8 with or without BOM, any line end.

A row is an object as the file has it and the line it begins on. What the fields mean is `task_files.py`. Memory is
bounded by one row and a read-ahead, however large the file is.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast

from skillopt.data.json_stream import MOST_CHARACTERS, JsonProblem, JsonStream, decode_value
from skillopt.errors import DataError
from skillopt.types import JsonValue
from skillopt.user_files import UnusableFile, not_utf8, open_user_file

FORMATS = ".json, .jsonl, .ndjson, .csv or .tsv"

MOST_BYTES = 1 << 29
"""Most bytes of a task file, 512 MiB: its tasks are kept in memory for the whole run."""

_LISTS = ("data", "examples")
"""Keys under which a JSON object may hold its list of tasks."""


@dataclass(frozen=True, slots=True)
class Row:
    """One object of a task file.

    Attributes:
        line: The line it begins on, from 1.
        values: Its fields as the file has them.
        key: Its key, in a JSON object that maps keys to tasks; else "".
    """

    line: int
    values: dict[str, JsonValue]
    key: str = ""


def is_task_file(path: Path) -> bool:
    """Tell by its name whether a file may hold tasks."""
    return path.suffix.lower() in _READERS and not path.name.startswith(".")


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a task file in their order.

    Raises:
        DataError: With file and line, if the file is missing, no regular file, of an unknown kind, not UTF-8, or holds
            anything but objects.
    """
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(f"{path}: task files end in {FORMATS}", hint="Rename or convert the file.")
    try:
        # Only CSV sees line ends as they are: they may stand inside quoted cells.
        newline = "" if reader is _csv_rows else None
        with io.TextIOWrapper(open_task_file(path), encoding="utf-8-sig", newline=newline) as file:
            yield from reader(file, path)
    except UnicodeDecodeError:
        raise _unusable(path, not_utf8(path, most_bytes=MOST_BYTES)) from None
    except UnusableFile as problem:
        raise _unusable(path, problem) from None


def open_task_file(path: Path) -> io.BufferedReader:
    """Open a task file for its bytes.

    Raises:
        DataError: If it is missing, no regular file, or too large.
    """
    try:
        return open_user_file(path, most_bytes=MOST_BYTES)
    except UnusableFile as problem:
        raise _unusable(path, problem) from None


def _unusable(path: Path, problem: UnusableFile) -> DataError:
    return DataError(f"{path} {problem.reason}", hint=problem.hint)


def _json_rows(file: TextIO, path: Path) -> Iterator[Row]:
    stream = JsonStream(file)
    try:
        opening = stream.peek()
        if opening == "":
            raise DataError(f"{path} is empty")
        if opening == "[":
            yield from (_row(path, line, value) for line, value in stream.array())
        elif opening == "{":
            yield from _json_object_rows(stream, path)
        else:
            raise DataError(f"{path}, line {stream.line}: a list of tasks is needed, or an object that holds one")
        _refuse_more(stream)
    except JsonProblem as problem:
        raise DataError(f"{path}, line {problem.line}: {problem}") from None


def _json_object_rows(stream: JsonStream, path: Path) -> Iterator[Row]:
    """Yield the list under `data` or, where there is none, the values, each with its key."""
    others: list[tuple[int, str, JsonValue]] = []
    found = ""
    for line, key in stream.entries():
        if key in _LISTS and stream.peek() == "[":
            if found:
                raise DataError(f"{path}, line {line}: two lists of tasks, {found} and {key}; one is needed")
            found = key
            yield from (_row(path, at, value) for at, value in stream.array())
        else:
            others.append((line, key, stream.value()))
    _refuse_more(stream, hint="; a file with one object a line must be named .jsonl")
    if not found:
        yield from (_row(path, line, value, key=key) for line, key, value in others)


def _refuse_more(stream: JsonStream, hint: str = "") -> None:
    if stream.peek():
        raise JsonProblem(f"text after the end of the JSON value{hint}", stream.line)


def _jsonl_rows(file: TextIO, path: Path) -> Iterator[Row]:
    for number, text in _lines(file, path):
        if not text.strip():
            continue
        try:
            value = decode_value(text)
        except JsonProblem as problem:
            whole = number == 1 and text.lstrip().startswith("[")
            hint = (
                "A file that is one JSON list must be named .json." if whole else "Each line must be one JSON object."
            )
            raise DataError(f"{path}, line {number}: {problem}", hint=hint) from None
        yield _row(path, number, value)


def _csv_rows(file: TextIO, path: Path) -> Iterator[Row]:
    # The library's own bound, 128 kB, is less than a long document in a cell.
    csv.field_size_limit(MOST_CHARACTERS)
    reader = csv.reader(_without_nul(file, path), delimiter="\t" if path.suffix.lower() == ".tsv" else ",", strict=True)
    header: list[str] = []
    while True:
        line = reader.line_num + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise DataError(f"{path}, line {line}: not valid CSV: {error}") from None
        if cells is None:
            return
        if not cells:
            continue
        if not header:
            header = _header(path, line, cells)
        elif len(cells) != len(header):
            raise DataError(f"{path}, line {line}: {len(cells)} cells, but the header names {len(header)} columns")
        else:
            yield Row(line, dict(zip(header, cells, strict=True)))


def _header(path: Path, line: int, cells: list[str]) -> list[str]:
    header = [cell.strip() for cell in cells]
    for number, name in enumerate(header, start=1):
        if not name:
            raise DataError(f"{path}, line {line}: column {number} has no name", hint="Name it or remove it.")
        if header.index(name) != number - 1:
            raise DataError(f"{path}, line {line}: two columns are named {name!r}")
    return header


def _without_nul(file: TextIO, path: Path) -> Iterator[str]:
    for number, text in _lines(file, path):
        if "\0" in text:
            raise DataError(f"{path}, line {number}: a NUL byte; this is no text file")
        yield text


def _lines(file: TextIO, path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines with their numbers, from 1; one without an end would else be read into memory whole."""
    lines = iter(lambda: file.readline(MOST_CHARACTERS + 1), "")
    for number, text in enumerate(lines, start=1):
        if len(text) > MOST_CHARACTERS:
            raise DataError(f"{path}, line {number}: longer than {MOST_CHARACTERS:,} characters; that is no task")
        yield number, text


def _row(path: Path, line: int, value: JsonValue, *, key: str = "") -> Row:
    if not isinstance(value, dict):
        kind = {list: "a list", str: "text", type(None): "null"}.get(cast("type[Any]", type(value)), "a bare value")
        raise DataError(f"{path}, line {line}: {kind} where a task is needed", hint="Each task must be a JSON object.")
    return Row(line, value, key)


_READERS: dict[str, Callable[[TextIO, Path], Iterator[Row]]] = {
    ".json": _json_rows,
    ".jsonl": _jsonl_rows,
    ".ndjson": _jsonl_rows,
    ".csv": _csv_rows,
    ".tsv": _csv_rows,
}
