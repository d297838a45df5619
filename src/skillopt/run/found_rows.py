"""The rows of evidence that were found in a damaged file: which table each belongs to, and whether it is whole.

Where in the file they were found does not matter (`sqlite_pages.py`). A record or a payment counts if its checksum
fits; one of the oldest format, which had none, if it can be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from skillopt.run.accounts import OUTSIDE_OF_A_RUN
from skillopt.run.evidence_format import RECORDS, checksum, row_checksum
from skillopt.run.sqlite_pages import Row

_KEY = re.compile(r"[0-9a-f]{64}")
_CLOCKS = frozenset({"recorded_at", "paid_at"})
_PLACE: Mapping[str, type] = {"stage": str, "epoch": int, "step": int, "place_index": int, "attempt": int}
_ENDING: Mapping[str, type] = {"recorded_at": str, "checksum": str, "origin": str}

TABLES: Mapping[str, Mapping[str, type]] = {
    "replies": {"key": str, "role": str, **_PLACE, "request": str, "reply": str, **_ENDING},
    "trajectories": {"key": str, "trajectory": str, **_ENDING},
    "rollouts": {"key": str, "skill_digest": str, "task_digest": str, "repeat": int, "rollout": str, **_ENDING},
    "payments": {
        "role": str,
        **_PLACE,
        "calls": int,
        "fresh_tokens": int,
        "cached_tokens": int,
        "output_tokens": int,
        "dollars": object,
        "retries": int,
        "paid_at": str,
        "key": str,
        "useful": int,
        "checksum": str,
    },
    "given_up": {"key": str, **_PLACE, "failure": str, "recorded_at": str, "checksum": str},
}
"""The columns of each numbered table, as they lie in a file of any format, and what they hold."""

_SINCE_FORMAT_2 = {"replies": 2, "trajectories": 2, "rollouts": 2, "payments": 3, "given_up": 1}
"""How many of them, at the end, a row of format 1 lacks; one that was upgraded may lack what follows its checksum."""

_NAMED_BY = {**dict.fromkeys(RECORDS, ("key",)), "given_up": ("key", *_PLACE)}
"""What no two records of a table have in common."""


@dataclass(frozen=True, slots=True)
class Found:
    """What was found of one table.

    Attributes:
        table: Its name; "notes" for what is noted of the run.
        recovered: Rows that are whole.
        damaged: Rows that are there and are not what was written; they are left out.
        missing: Rows that must have been there, since later ones are. How many came after the last that was found is
            not known; nor is it of notes, which have no numbers.
    """

    table: str
    recovered: int
    damaged: int = 0
    missing: int = 0


class FoundRows:
    """Rows that were found, told apart by table.

    Attributes:
        notes: What was noted of the run, by name.
    """

    def __init__(self) -> None:
        self.notes: dict[str, str] = {}
        self._damaged_notes: set[str] = set()
        self._kept: dict[str, dict[object, tuple[int, dict[str, Any]]]] = {table: {} for table in TABLES}
        self._numbers: dict[str, set[int]] = {table: set() for table in TABLES}
        self._damaged: dict[str, set[int]] = {table: set() for table in TABLES}

    def add(self, row: Row) -> None:
        """Keep a row if it is whole, and count it if it is a damaged one of ours."""
        if row.rowid is None:
            # The notes alone have no numbers; the rows of an index end in one.
            match row.cells:
                # The first format had no checksums, and the note of the format itself has none.
                case (str(name), str(value)) | (str(name), str(value), ""):
                    self.notes.setdefault(name, value)
                case (str(name), str(value), str(written)) if checksum(name, value) == written:
                    self.notes.setdefault(name, value)
                case (str(name), str(), str()):
                    self._damaged_notes.add(name)
                case _:
                    pass
            return
        table = _table_of(row)
        if table is None:
            return
        values: dict[str, Any] = dict(zip(TABLES[table], row.cells, strict=False))
        self._numbers[table].add(row.rowid)
        if "checksum" not in values:
            values |= {"key": "", "useful": 1} if table == "payments" else {}
            values["checksum"] = row_checksum(table, values)
        if is_whole(table, values):
            names = _NAMED_BY.get(table)
            name = row.rowid if names is None else tuple(values[name] for name in names)
            self._keep(table, row.rowid, name, values)
        else:
            self._damaged[table].add(row.rowid)

    def _keep(self, table: str, number: int, name: object, values: dict[str, Any]) -> None:
        self._kept[table].setdefault(name, (number, values))

    def whole(self, table: str) -> list[dict[str, Any]]:
        """Return the rows of a table that are whole, by column, in the order in which they were written."""
        return [values for _, values in sorted(self._kept[table].values(), key=lambda kept: kept[0])]

    @property
    def any_record(self) -> bool:
        """Whether there is anything that was asked or measured."""
        return any(self._kept[table] for table in RECORDS)

    @property
    def lost_identity(self) -> bool:
        """Whether a training has recorded or paid something and nothing notes any more which run it was."""
        trained = self._kept["replies"] or self._kept["given_up"]
        paid = (row for _, row in self._kept["payments"].values())
        return "identity" not in self.notes and bool(
            trained or any(row["stage"] not in OUTSIDE_OF_A_RUN for row in paid)
        )

    def counts(self) -> tuple[Found, ...]:
        """Return what was found of each table, and of the notes."""
        notes = self.notes.keys() - {"format"}
        of_tables = (
            Found(
                table,
                recovered=len(self._kept[table]),
                damaged=len(self._damaged[table]),
                missing=max(numbers, default=0) - len(numbers),
            )
            for table, numbers in self._numbers.items()
        )
        return (*of_tables, Found("notes", len(notes), damaged=len(self._damaged_notes - notes)))

    def first_day(self) -> str | None:
        """Return the day of the first row, as far as can be told."""
        rows = (row for kept in self._kept.values() for _, row in kept.values())
        return min((row[name][:10] for row in rows for name in _CLOCKS & row.keys()), default=None)


def is_whole(table: str, row: Mapping[str, Any]) -> bool:
    """Whether a record or a payment is what was written, by the checksum beside it, and can be read."""
    if row_checksum(table, row) != row["checksum"]:
        return False
    try:
        return table == "payments" or isinstance(json.loads(row[RECORDS[table]]), dict)
    except (ValueError, RecursionError):
        return False


def _table_of(row: Row) -> str | None:
    for table, columns in TABLES.items():
        oldest, checked = len(columns) - _SINCE_FORMAT_2[table], list(columns).index("checksum") + 1
        if len(row.cells) in (oldest, *range(checked, len(columns) + 1)) and all(
            map(isinstance, row.cells, columns.values())
        ):
            named = row.cells[0]
            if table == "payments" or (isinstance(named, str) and _KEY.fullmatch(named)):
                return table
    return None
