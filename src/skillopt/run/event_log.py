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
from typing import Self

from skillopt.disk import OpenedFile, check_regular, refused
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
        RunDirectoryError: If the file cannot be written. Every event raises it too, also where the run directory was
            moved or removed, before anything new is made in its old place.
    """

    def __init__(self, path: Path, subscribers: Sequence[Subscriber] = ()) -> None:
        self._path = path
        self._subscribers = tuple(subscribers)
        self._sequence = 0
        with refused(f"{path} cannot be written"):
            check_regular(path)
            # Without a buffer, since what a full disk refused must not come again when the file is closed.
            self._file = path.open("ab", buffering=0)
            if not _ends_its_last_line(path):
                self._write(b"\n")
            self._opened = OpenedFile.at(path)

    def emit(self, event: Event) -> None:
        """Append an event and tell the subscribers."""
        self._opened.check_in_place()
        with refused(f"{self._path} cannot be written"):
            self._write(event_json(event, sequence=self._sequence).encode("ascii") + b"\n")
        self._sequence += 1
        for subscriber in self._subscribers:
            subscriber(event)

    def _write(self, line: bytes) -> None:
        while line:  # A disk that is nearly full takes a part, and says so at the next.
            line = line[self._file.write(line) :]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()
