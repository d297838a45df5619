"""Rows found page by page are those that SQLite itself finds, and a bad page costs its own rows only."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.run.sqlite_pages import Row, read_rows

VALUES = st.one_of(
    st.none(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, width=64).filter(lambda value: value != int(value) if abs(value) < 1e15 else True),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40),
    st.integers(0, 12_000).map(lambda length: "ü" * length),
    st.binary(max_size=40),
)


def fill(path: Path, rows: list[tuple[object, ...]], *, keep_the_log: bool = False) -> tuple[bytes, bytes]:
    """Write rows into a table, and return the file and its log."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE things (one, two, three)")
        database.executemany("INSERT INTO things VALUES (?, ?, ?)", rows)
        if keep_the_log:
            return path.read_bytes(), path.with_name(f"{path.name}-wal").read_bytes()
    return path.read_bytes(), b""


def things(database: bytes, log: bytes = b"") -> list[Row]:
    return sorted((row for row in read_rows(database, log) if len(row.cells) == 3), key=lambda row: row.rowid or 0)


@given(rows=st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=30), keep_the_log=st.booleans())
def test_every_row_is_found_as_it_was_written(rows: list[tuple[object, ...]], keep_the_log: bool) -> None:
    with TemporaryDirectory() as folder:
        database, log = fill(Path(folder) / "a.sqlite", rows, keep_the_log=keep_the_log)
    assert things(database, log) == [Row(number, cells) for number, cells in enumerate(rows, start=1)]  # type: ignore[arg-type]


@pytest.mark.parametrize("length", [3, 100, 900, 9000])
def test_every_row_of_a_table_without_numbers_is_found(tmp_path: Path, length: int) -> None:
    """Its interior pages hold rows too."""
    path = tmp_path / "a.sqlite"
    rows = [(f"{number:03}", "ü" * length, number) for number in range(400)]
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE things (one PRIMARY KEY, two, three) WITHOUT ROWID")
        database.executemany("INSERT INTO things VALUES (?, ?, ?)", rows)
        database.commit()
    assert sorted(row.cells for row in things(path.read_bytes()) if row.rowid is None) == rows


def test_what_the_log_holds_counts_up_to_its_last_commit(tmp_path: Path) -> None:
    database, log = fill(tmp_path / "a.sqlite", [(number, "x" * 900, None) for number in range(40)], keep_the_log=True)
    found = [len(things(database, log[:length])) for length in range(0, len(log) + 1, 1000)]
    assert found == sorted(found), "a log that is cut later holds no less"
    assert found[0] == 0
    assert len(things(database, log)) == 40


@pytest.mark.parametrize("filling", [b"\0", b"\xff", b"\x0d"])
def test_a_page_that_is_bad_costs_its_own_rows_only(tmp_path: Path, filling: bytes) -> None:
    """The header, the root of the table, and pages in its middle, each in its turn."""
    rows = [(number, "x" * 900, None) for number in range(60)]
    database, _ = fill(tmp_path / "a.sqlite", rows)
    whole = things(database)
    assert len(whole) == 60
    for start in range(0, len(database), 4096):
        damaged = database[:start] + filling * 4096 + database[start + 4096 :]
        left = [row for row in things(damaged) if row in whole]
        assert len(whole) - len(left) <= 4


def test_a_file_that_is_cut_gives_what_lies_ahead_of_the_cut(tmp_path: Path) -> None:
    database, _ = fill(tmp_path / "a.sqlite", [(number, "x" * 900, None) for number in range(60)])
    found = [len(things(database[:length])) for length in range(0, len(database), 500)]
    assert found == sorted(found)
    assert found[len(found) // 2] > 20


@given(noise=st.binary(max_size=9000), log=st.binary(max_size=9000))
def test_noise_is_no_row_and_no_error(noise: bytes, log: bytes) -> None:
    for start in (b"", b"SQLite format 3\0", b"\0" * 100 + b"\x0d\0\0\0\x05"):
        list(read_rows(start + noise, log))
