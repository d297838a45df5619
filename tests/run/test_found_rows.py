"""Rows of a damaged file: told apart by what they look like, and kept only where they are what was written."""

from __future__ import annotations

import json

from skillopt.run.evidence_format import checksum
from skillopt.run.found_rows import Found, FoundRows
from skillopt.run.sqlite_pages import Cell, Row

KEY = "ab" * 32
PLACE: tuple[Cell, ...] = ("gate", 1, 2, 3, 0)
TEXT = json.dumps({"text": "yes"})
TIME = "2026-01-02T03:04:05+00:00"
REPLY: tuple[Cell, ...] = (KEY, "optimizer", *PLACE, "{}", TEXT, TIME, checksum(KEY, TEXT), "")
ROLLOUT: tuple[Cell, ...] = (KEY, "skill", "task", 0, TEXT, TIME, checksum(KEY, TEXT), "")
TRAJECTORY: tuple[Cell, ...] = (KEY, TEXT, TIME, checksum(KEY, TEXT), "")
GIVEN_UP: tuple[Cell, ...] = (KEY, *PLACE, TEXT, TIME, checksum(KEY, TEXT))
PAYMENT: tuple[Cell, ...] = ("target", *PLACE, 1, 2, 3, 4, 0.5, 0, TIME, KEY, 1)


def found(*rows: Row) -> FoundRows:
    rows_found = FoundRows()
    for row in rows:
        rows_found.add(row)
    return rows_found


def counts(rows: FoundRows) -> dict[str, tuple[int, int, int]]:
    return {
        each.table: (each.recovered, each.damaged, each.missing)
        for each in rows.counts()
        if each != Found(each.table, 0)
    }


def test_each_row_is_known_by_its_looks() -> None:
    rows = found(*(Row(1, cells) for cells in (REPLY, ROLLOUT, TRAJECTORY, GIVEN_UP, PAYMENT)))
    assert counts(rows) == dict.fromkeys(("replies", "rollouts", "trajectories", "given_up", "payments"), (1, 0, 0))
    assert rows.whole("replies")[0]["reply"] == TEXT
    assert rows.whole("payments")[0]["dollars"] == 0.5
    assert rows.any_record
    assert rows.first_day() == "2026-01-02"


def test_rows_of_format_1_get_the_checksum_they_lacked() -> None:
    rows = found(Row(1, REPLY[:-2]), Row(1, ROLLOUT[:-2]), Row(1, TRAJECTORY[:-2]), Row(1, PAYMENT[:-2]))
    assert counts(rows) == dict.fromkeys(("replies", "rollouts", "trajectories", "payments"), (1, 0, 0))
    assert rows.whole("replies")[0]["checksum"] == checksum(KEY, TEXT)


def test_a_record_that_is_not_what_was_written_is_left_out_and_counted() -> None:
    flipped = TEXT.replace("yes", "yet")
    rows = found(Row(1, (KEY, flipped, *TRAJECTORY[2:])), Row(2, ("cd" * 32, *TRAJECTORY[1:])), Row(3, TRAJECTORY))
    assert counts(rows) == {"trajectories": (1, 2, 0)}


def test_a_text_that_is_no_record_is_damaged_whatever_its_checksum() -> None:
    assert counts(found(Row(1, (KEY, "[", TIME)))) == {"trajectories": (0, 1, 0)}


def test_numbers_that_are_left_out_are_missing() -> None:
    others = [(f"{number:064x}", TEXT, TIME, checksum(f"{number:064x}", TEXT), "") for number in range(3)]
    rows = found(Row(7, others[0]), Row(2, others[1]), Row(3, others[2]))
    assert counts(rows) == {"trajectories": (3, 0, 4)}
    assert [row["key"] for row in rows.whole("trajectories")] == [others[i][0] for i in (1, 2, 0)], "as written"


def test_a_row_that_is_found_twice_counts_once() -> None:
    assert counts(found(Row(1, REPLY), Row(1, REPLY), Row(1, PAYMENT), Row(1, PAYMENT))) == {
        "replies": (1, 0, 0),
        "payments": (1, 0, 0),
    }


def test_notes_have_no_number_and_rows_of_indexes_and_of_others_are_nothing() -> None:
    rows = found(
        Row(None, ("identity", "{}")),
        Row(None, (KEY, 1)),
        Row(1, ("table", "replies", "replies", 2, "CREATE TABLE")),
        Row(1, ("no key", *TRAJECTORY[1:])),
        Row(1, (None, 1.5)),
    )
    assert rows.notes == {"identity": "{}"}
    assert counts(rows) == {}
    assert not rows.any_record
    assert rows.first_day() is None
