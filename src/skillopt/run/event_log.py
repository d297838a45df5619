"""The one append-only log of a run, and those who subscribe to it.

Each line of `events.jsonl` is one event with its type, its number within this start of the run, and a clock reading.
A line that is no JSON was cut short when its process was killed; the next start begins a new one.
The terminal, history.json and whatever else watches get the same typed events at the same moment.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

from skillopt.errors import RunDirectoryError
from skillopt.events import Event

FORMAT_VERSION = 1

Subscriber = Callable[[Event], None]


def event_json(event: Event, *, sequence: int) -> str:
    """Return the log's line for an event, without its line end."""
    row = {
        "version": FORMAT_VERSION,
        "sequence": sequence,
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "event": type(event).__name__,
        **dataclasses.asdict(event),
    }
    # ASCII: nothing in it can act on the terminal that it is printed to, and any stream can carry it.
    return json.dumps(row)


def _ends_its_last_line(path: Path) -> bool:
    """Whether a log is whole; a process that was killed while it wrote may have left half a line."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return True
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


class EventLog:
    """Appends events to a file and hands them to subscribers, in the order in which they happen.

    Args:
        path: The file; it is created where missing, and an earlier start's events stay.
        subscribers: Called with every event; they may not change the run.

    Raises:
        RunDirectoryError: If the file cannot be written.
    """

    def __init__(self, path: Path, subscribers: Sequence[Subscriber] = ()) -> None:
        self._path = path
        self._subscribers = tuple(subscribers)
        self._sequence = 0
        try:
            self._file: TextIO = path.open("a", encoding="utf-8", newline="\n")
            if not _ends_its_last_line(path):
                self._file.write("\n")
        except OSError as error:
            raise RunDirectoryError(f"{path}: cannot be written: {error.strerror}") from error

    def emit(self, event: Event) -> None:
        """Append an event and tell the subscribers."""
        try:
            self._file.write(event_json(event, sequence=self._sequence) + "\n")
            self._file.flush()
        except OSError as error:
            raise RunDirectoryError(f"{self._path}: cannot be written: {error.strerror}") from error
        self._sequence += 1
        for subscriber in self._subscribers:
            subscriber(event)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
