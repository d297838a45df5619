"""Rows of a damaged file: told apart by what they look like, and kept only where they are what was written."""

from __future__ import annotations

import json

import pytest

from skillopt.run.evidence_format import PAYMENT_COLUMNS, checksum, row_checksum
from skillopt.run.found_rows import TABLES, Found, FoundRows
from skillopt.run.sqlite_pages import Cell, Row

KEY = "ab" * 32
PLACE: tuple[Cell, ...] = ("gate", 1, 2, 3, 0)
TEXT = json.dumps({"text": "yes"})
TIME = "2026-01-02T03:04:05+00:00"
REPLY: tuple[Cell, ...] = (KEY, "optimizer", *PLACE, "{}", TEXT, TIME, checksum(KEY, TEXT), "")
ROLLOUT: tuple[Cell, ...] = (KEY, "skill", "task", 0, TEXT, TIME, checksum(KEY, TEXT), "")
TRAJECTORY: tuple[Cell, ...] = (KEY, TEXT, TIME, checksum(KEY, TEXT), "")
_PAID: tuple[Cell, ...] = ("target", *PLACE, 1, 2, 3, 4, 0.5, 0, TIME, KEY, 1)
PAYMENT: tuple[Cell, ...] = (*_PAID, row_checksum("payments", dict(zip(PAYMENT_COLUMNS, _PAID, strict=True))))
_LEFT: tuple[Cell, ...] = (KEY, *PLACE, TEXT, TIME)
GIVEN_UP: tuple[Cell, ...] = (*_LEFT, row_checksum("given_up", dict(zip(TABLES["given_up"], _LEFT, strict=False))))


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
    rows = found(Row(1, REPLY[:-2]), Row(1, ROLLOUT[:-2]), Row(1, TRAJECTORY[:-2]), Row(1, PAYMENT[:-3]))
    rows.add(Row(1, GIVEN_UP[:-1]))
    assert counts(rows) == dict.fromkeys(("replies", "rollouts", "trajectories", "payments", "given_up"), (1, 0, 0))
    assert rows.whole("replies")[0]["checksum"] == checksum(KEY, TEXT)
    assert rows.whole("payments")[0]["key"] == ""
    assert rows.whole("given_up")[0]["checksum"] == GIVEN_UP[-1]


def test_a_record_that_is_not_what_was_written_is_left_out_and_counted() -> None:
    flipped = TEXT.replace("yes", "yet")
    rows = found(Row(1, (KEY, flipped, *TRAJECTORY[2:])), Row(2, ("cd" * 32, *TRAJECTORY[1:])), Row(3, TRAJECTORY))
    assert counts(rows) == {"trajectories": (1, 2, 0)}


@pytest.mark.parametrize(("row", "columns"), [(PAYMENT, range(15)), (GIVEN_UP, range(7))], ids=["payment", "given up"])
def test_a_value_that_is_not_what_was_written_is_found_in_every_column(row: tuple[Cell, ...], columns: range) -> None:
    """What limits count and what a place goes on without are guarded as replies are; when it was given up is not."""
    for number in columns:
        value = row[number]
        other = value[:-1] + ("0" if value[-1] != "0" else "1") if isinstance(value, str) else value + 1  # type: ignore[operator]
        rows = found(Row(1, (*row[:number], other, *row[number + 1 :])))
        assert [(each.recovered, each.damaged) for each in rows.counts() if each != Found(each.table, 0)] == [(0, 1)]


@pytest.mark.parametrize("left", [14, 15])
def test_a_payment_that_was_cut_is_none(left: int) -> None:
    assert counts(found(Row(1, PAYMENT[:left]))) == {}


def test_dollars_are_the_same_as_a_whole_number() -> None:
    """In the file SQLite writes them so."""
    whole = (*_PAID[:10], 2.0, *_PAID[11:])
    written = row_checksum("payments", dict(zip(PAYMENT_COLUMNS, whole, strict=True)))
    rows = found(Row(1, (*_PAID[:10], 2, *_PAID[11:], written)))
    assert counts(rows) == {"payments": (1, 0, 0)}


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


def test_a_note_that_is_not_what_was_written_is_counted_and_left_out() -> None:
    good = ("models", "{}", checksum("models", "{}"))
    rows = found(
        Row(None, ("identity", "[}", checksum("identity", "{}"))), Row(None, good), Row(None, ("format", "2", ""))
    )
    assert counts(rows) == {"notes": (1, 1, 0)}


def test_a_training_that_nothing_names_has_lost_its_identity_and_an_evaluation_has_none() -> None:
    assert found(Row(1, REPLY)).lost_identity
    assert found(Row(1, PAYMENT)).lost_identity
    assert not found(Row(1, REPLY), Row(None, ("identity", "{}"))).lost_identity
    assert not found(Row(1, ROLLOUT), Row(1, ("target", "eval", *PAYMENT[2:13]))).lost_identity


def test_notes_have_no_number_and_rows_of_indexes_and_of_others_are_nothing() -> None:
    rows = found(
        Row(None, ("identity", "{}")),
        Row(None, (KEY, 1)),
        Row(1, ("table", "replies", "replies", 2, "CREATE TABLE")),
        Row(1, ("no key", *TRAJECTORY[1:])),
        Row(1, (None, 1.5)),
    )
    assert rows.notes == {"identity": "{}"}
    assert counts(rows) == {"notes": (1, 0, 0)}
    assert not rows.any_record
    assert rows.first_day() is None
