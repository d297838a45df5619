"""Reading a run's event log while it grows: the typed events of the bytes that were appended since the last reading.

It decides nothing about what the events mean (`report/live.py` does), and it never stops at what it cannot read: a
process may have been killed while it wrote, and a later version may log what this one does not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from types import UnionType
from typing import Any, BinaryIO, Final, Literal, TypeAlias, cast, get_args, get_origin, get_type_hints

from skillopt.errors import RunDirectoryError
from skillopt.events import EpochStageCommitted, Event, RunEnded, RunStarted, StepCommitted
from skillopt.report.course import step_point
from skillopt.report.stored_records import GREATEST, RECORD, fits
from skillopt.run.event_log import FORMAT_VERSION

MOST_BYTES: Final = 16 * 2**20
"""Of one reading; no event is that long."""

END_BYTES: Final = 2**20
"""Of the end of a log; the event that a run has ended holds its summary, and few follow it."""

_REMEMBERED_BYTES: Final = 256
"""Ahead of a position; every line has its clock reading and number, so another file has others there."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a log was read.

    Attributes:
        offset: In bytes.
        before: The bytes right ahead of it: where others stand there now, the file is another one.
    """

    offset: int = 0
    before: bytes = b""


START: Final = Position()
"""The beginning of a log."""


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event with the clock reading of its line, in seconds since 1970."""

    event: Event
    at: float


@dataclass(frozen=True, slots=True)
class Reading:
    """What one look at a log found.

    Attributes:
        events: In their order.
        position: Where to go on.
        anew: Whether the file was cut or replaced since the last reading: these events begin at its beginning, and what
            was known of it is to be forgotten.
        more: Whether there is more to read at once.
        unreadable: Lines that are no events: cut by a kill, or damaged.
        unknown: Lines of a type or a version that this version of SkillOpt does not know.
    """

    events: tuple[LoggedEvent, ...]
    position: Position
    anew: bool = False
    more: bool = False
    unreadable: int = 0
    unknown: int = 0


def read_events(
    path: Path, position: Position = START, *, most: int = MOST_BYTES, skim: Literal["all", "what counts"] = "all"
) -> Reading:
    """Read what was appended to a log. The end of a line that is still being written is left for the next reading.

    Args:
        path: The log; where it is missing nothing was logged yet.
        position: Where the last reading ended.
        most: Bytes that are read at most.
        skim: Whether to leave out, without reading them, events of which nothing is known in the end: most of a long
            log is the progress of stages that are over. `report/live.py` comes to know the same.

    Raises:
        RunDirectoryError: If the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            begun = position if _goes_on(file, position) else START
            file.seek(begun.offset)
            found = file.read(most)
            more = len(found) == most and bool(file.read(1))
    except FileNotFoundError:
        return Reading((), START, anew=position != START)
    except OSError as error:
        raise RunDirectoryError(f"{path}: cannot be read: {error.strerror or error}") from error
    # A line that is longer than all that is read at once is no event: it is passed over in pieces.
    whole = found if more and b"\n" not in found else found[: found.rfind(b"\n") + 1]
    written = [line for line in whole.split(b"\n") if line.strip()]
    lines = [_read_line(line) for line in (written if skim == "all" else _what_counts(written))]
    after = Position(begun.offset + len(whole), (begun.before + whole)[-_REMEMBERED_BYTES:])
    return Reading(
        tuple(line for line in lines if isinstance(line, LoggedEvent)),
        after,
        anew=begun != position,
        more=more,
        unreadable=lines.count(_UNREADABLE),
        unknown=lines.count(_UNKNOWN),
    )


def is_at_work(end: bytes) -> bool:
    """Whether the last start of a run that its log tells of has not ended: it goes on, or it was killed.

    Args:
        end: The last bytes of the log, `END_BYTES` or all of it.
    """
    for line in reversed(end.split(b"\n")):
        if b'"RunEnded"' in line or b'"RunStarted"' in line:
            found = _read_line(line)
            if isinstance(found, LoggedEvent) and isinstance(found.event, RunStarted | RunEnded):
                return isinstance(found.event, RunStarted)
    return len(end) >= END_BYTES


def _goes_on(file: BinaryIO, position: Position) -> bool:
    """Whether a file still holds what was read of it, as far as its end says."""
    file.seek(position.offset - len(position.before))
    return file.read(len(position.before)) == position.before


_BEGINNING = re.compile(rb'\{"version": %d, "sequence": \d+, "time": "[^"]*", "event": "(\w+)"' % FORMAT_VERSION)
"""As the log is written; a line that begins otherwise is read whole."""
_SETTLING: Final = frozenset({b"StepCommitted", b"EpochStageCommitted", b"RunEnded"})


def _what_counts(lines: Sequence[bytes]) -> list[bytes]:
    """Return lines without those that later ones make forgotten, as the reducer forgets.

    A start forgets everything. The first stage after a step is final forgets the stages before it, and with them their
    progress. Running totals are forgotten for the next ones, unless something between them may look at them.
    """
    counting: list[bytes] = []
    begun, progress_counts, totals_count = False, True, True
    for line in reversed(lines):
        found = _BEGINNING.match(line)
        kind = found[1] if found else b""
        if (kind == b"StageProgress" and not progress_counts) or (kind == b"Spent" and not totals_count):
            continue
        counting.append(line)
        if kind == b"RunStarted":
            break
        if kind != b"StageProgress":
            totals_count = kind != b"Spent"
        begun = begun or kind == b"StageStarted"
        progress_counts = progress_counts and not (begun and kind in _SETTLING)
    return counting[::-1]


_GREATEST: Final = 10**300
"""NaN, infinity and a number of 400 digits cannot be reckoned with; a limit may be any other."""

_UNREADABLE: Final = "unreadable"
_UNKNOWN: Final = "unknown"

_Kind: TypeAlias = type[Event]
_Check: TypeAlias = Callable[[Any], bool]


def _check(wanted: Any) -> _Check:
    """Return what says whether a value out of JSON is of the type of a field."""
    origin, parts = get_origin(wanted), get_args(wanted)
    if origin is Mapping:
        inner = _check(parts[1])
        return lambda value: isinstance(value, dict) and all(map(inner, cast("dict[str, Any]", value).values()))
    if origin is Sequence:
        inner = _check(parts[0])
        return lambda value: isinstance(value, list) and all(map(inner, cast("list[Any]", value)))
    if origin is UnionType:
        checks = [_check(part) for part in parts]
        return lambda value: any(check(value) for check in checks)
    if origin is Literal:
        return lambda value: value in parts
    if wanted is Any:
        return lambda value: True
    if wanted in (int, float):
        types, most = ((int, float), _GREATEST) if wanted is float else ((int,), GREATEST)
        return lambda value: type(value) in types and -most <= value <= most
    return lambda value: type(value) is wanted


def _checks(kind: _Kind) -> dict[str, _Check]:
    """Return what checks each field of an event."""
    # What a record holds is not looked into: the type is recursive, and it came out of JSON.
    return {name: _check(wanted) for name, wanted in get_type_hints(kind, localns={"JsonValue": Any}).items()}


_KINDS: Final[Mapping[str, tuple[_Kind, Mapping[str, _Check]]]] = {
    kind.__name__: (kind, _checks(kind)) for kind in get_args(Event)
}


def _read_line(line: bytes) -> LoggedEvent | str:
    try:
        row: object = json.loads(line)
        if not isinstance(row, dict):
            return _UNREADABLE
        fields = cast("dict[str, Any]", row)
        version, name = fields["version"], fields["event"]
        if not isinstance(version, int) or not isinstance(name, str):
            return _UNREADABLE
        if version > FORMAT_VERSION or name not in _KINDS:
            return _UNKNOWN
        kind, checks = _KINDS[name]
        # What a later version added is passed over; what an earlier one did not have yet has a default.
        values = {field: fields[field] for field in checks if field in fields}
        if not all(checks[field](value) for field, value in values.items()):
            return _UNREADABLE
        event = kind(**values)
        # Whoever reads them later need not doubt what a record holds.
        if isinstance(event, StepCommitted | EpochStageCommitted):
            step_point(event.record)
            if not fits(event.record, RECORD):
                return _UNREADABLE
        return LoggedEvent(event, datetime.fromisoformat(fields["time"]).timestamp())
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, OSError, RecursionError):
        return _UNREADABLE
