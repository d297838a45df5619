"""What the optimizer was asked and what it said, word for word, out of a run's evidence: the prompts and replies.

The evidence is opened for reading alone, beside a run that is at work too, and nothing is written into it. What stands
in prompts and replies is hostile, to be shown as text.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from skillopt.errors import RunDirectoryError
from skillopt.models.base import ChatReply
from skillopt.run.evidence_json import reply_from_json, request_from_json
from skillopt.types import Message, Place

_EVIDENCE: Final = "evidence.sqlite"
_KEY: Final = re.compile(r"[0-9a-f]{64}", re.ASCII)
_STAGE: Final = "role, epoch, step, stage"
_LINE: Final = (
    "key, role, stage, epoch, step, place_index, attempt, "
    f"DENSE_RANK() OVER (PARTITION BY {_STAGE} ORDER BY place_index)"
)
"""The columns of a `CallLine`, the number of the call in its stage last."""
_STAGES: Final = ("reflect", "aggregate", "select", "update", "slow_update", "meta_skill")
_BUSY_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class CallLine:
    """A recorded reply in a line.

    Attributes:
        key: What it is found by.
        role: Who was asked.
        place: Where in the run.
        number: Which one of its stage in its step it is, from 1; one that was asked again keeps it. The index in
            `place` may have gaps, since it says where in the merging a call stands.
    """

    key: str
    role: str
    place: Place
    number: int

    @property
    def title(self) -> str:
        """What the call is, in words."""
        name = f"{self.place.stage.replace('_', ' ').capitalize()} {self.number}"
        return f"{name}, asked again" if self.place.attempt else name


@dataclass(frozen=True, slots=True)
class CallSize:
    """How long a recorded reply is and what it answers, in characters, as they are recorded."""

    asked: int
    said: int


@dataclass(frozen=True, slots=True)
class Call:
    """A recorded reply, and what it answers."""

    line: CallLine
    messages: tuple[Message, ...]
    reply: ChatReply


def calls(directory: Path, *, step: int | None = None) -> tuple[CallLine, ...]:
    """Return the recorded replies of a run, in the order of the method; none where there is no evidence.

    What was asked and said is not read for it: of a long run that is more than a page can wait for.

    Args:
        directory: The run directory, without links.
        step: Only those of a step, and of what followed it at an epoch's end; None for all.

    Raises:
        RunDirectoryError: If the evidence cannot be read.
    """
    asked, values = ("", ()) if step is None else (" WHERE step = ?", (step,))
    with _opened(directory) as connection:
        if connection is None:
            return ()
        rows = connection.execute(f"SELECT {_LINE} FROM replies{asked}", values).fetchall()
    return tuple(sorted(map(_line, rows), key=_in_order))


def sizes(directory: Path, lines: Sequence[CallLine]) -> Mapping[str, CallSize]:
    """Return how long each of some replies is and what it answers, by its key.

    Raises:
        RunDirectoryError: If the evidence cannot be read.
    """
    with _opened(directory) as connection:
        if connection is None:
            return {}
        wanted = f"SELECT key, length(request), length(reply) FROM replies WHERE key IN ({','.join('?' * len(lines))})"
        rows = connection.execute(wanted, [line.key for line in lines]).fetchall()
    return {key: CallSize(asked, said) for key, asked, said in rows}


def _line(row: tuple[Any, ...]) -> CallLine:
    return CallLine(row[0], row[1], Place(*row[2:7]), row[7])


def _in_order(line: CallLine) -> tuple[int, int, int, str, int, int]:
    place = line.place
    rank = _STAGES.index(place.stage) if place.stage in _STAGES else len(_STAGES)
    return place.epoch, place.step, rank, place.stage, place.index, place.attempt


def call(directory: Path, key: str) -> Call | None:
    """Return one recorded reply with what it answers; None where there is none under this key.

    Raises:
        RunDirectoryError: If the evidence cannot be read.
    """
    if not _KEY.fullmatch(key):
        return None
    with _opened(directory) as connection:
        if connection is None:
            return None
        own = f"({_STAGE}) = (SELECT {_STAGE} FROM replies WHERE key = ?)"
        stage = f"SELECT {_LINE}, request, reply FROM replies WHERE {own}"
        row = connection.execute(f"SELECT * FROM ({stage}) WHERE key = ?", (key, key)).fetchone()
        if row is None:
            return None
        line = _line(row)
        try:
            return Call(line, request_from_json(row[8], line.place).messages, reply_from_json(row[9]))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise _unreadable(directory, f"a reply in it is damaged: {type(error).__name__}") from error


@contextmanager
def _opened(directory: Path) -> Generator[sqlite3.Connection | None]:
    """Open the evidence for the length of the block; None where there is none, or only behind a link."""
    path = directory / _EVIDENCE
    if path.is_symlink() or not path.is_file():
        yield None
        return
    try:
        log = path.with_name(f"{_EVIDENCE}-wal")
        # Without a log nobody is writing; to open it otherwise would leave a log and an index of it behind.
        alone = "" if log.is_file() and log.stat().st_size else "&immutable=1"
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro{alone}", uri=True, timeout=_BUSY_SECONDS)
        try:
            yield connection
        finally:
            connection.close()
    except (sqlite3.Error, OSError) as error:
        raise _unreadable(directory, str(error)) from error


def _unreadable(directory: Path, reason: str) -> RunDirectoryError:
    return RunDirectoryError(
        f"{directory / _EVIDENCE} cannot be read: {reason}",
        hint="Look again in a moment; if it stays so, `skillopt recover` says what can be saved.",
    )
