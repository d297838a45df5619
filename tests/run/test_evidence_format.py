"""The format of the evidence store: an older file is brought to it, one that is not known is refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from skillopt.errors import RunDirectoryError
from skillopt.models.base import ChatReply
from skillopt.models.meter import Payment
from skillopt.run.evidence import EvidenceStore
from skillopt.run.evidence_format import FORMAT, checksum, damage_advice, known_format, row_checksum
from skillopt.types import Failure, Place, Usage

FORMAT_1 = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE replies (
    key TEXT PRIMARY KEY, role TEXT NOT NULL,
    stage TEXT NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL,
    place_index INTEGER NOT NULL, attempt INTEGER NOT NULL,
    request TEXT NOT NULL, reply TEXT NOT NULL, recorded_at TEXT NOT NULL
);
CREATE TABLE payments (
    role TEXT NOT NULL,
    stage TEXT NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL,
    place_index INTEGER NOT NULL, attempt INTEGER NOT NULL,
    calls INTEGER NOT NULL, fresh_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL, dollars REAL, retries INTEGER NOT NULL, paid_at TEXT NOT NULL
);
CREATE TABLE given_up (
    key TEXT NOT NULL,
    stage TEXT NOT NULL, epoch INTEGER NOT NULL, step INTEGER NOT NULL,
    place_index INTEGER NOT NULL, attempt INTEGER NOT NULL,
    failure TEXT NOT NULL, recorded_at TEXT NOT NULL,
    PRIMARY KEY (key, stage, epoch, step, place_index, attempt)
);
INSERT INTO meta VALUES ('format', '1'), ('identity', '{}');
INSERT INTO replies VALUES ('r', 'optimizer', 'reflect', 1, 2, 3, 0, '{}',
    '{"text":"yes","finish_reason":"stop","reasoning":"","usage":{"calls":1}}', '2026-01-01');
INSERT INTO payments VALUES ('optimizer', 'reflect', 1, 2, 3, 0, 1, 10, 20, 30, 0.5, 1, '2026-01-01');
INSERT INTO given_up VALUES ('answer', 'select', 1, 2, 0, 0,
    '{"kind":"error","stage":"select","error_type":"E","message":"m"}', '2026-01-01');
"""
"""A file as the first format left it; the tables that it had for rollouts are made when they are missing."""


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "evidence.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(FORMAT_1)
    connection.close()
    return path


def test_a_file_of_format_1_keeps_all_it_holds(old: Path) -> None:
    for _ in range(2):
        with EvidenceStore(old) as store:
            assert store.get_reply("r") == ChatReply("yes", usage=Usage(1))
            assert store.get_given_up("answer", Place("select", 1, 2)) == Failure("error", "select", "E", "m")
            assert store.payments() == (Payment("optimizer", Place("reflect", 1, 2, 3), Usage(1, 10, 20, 30), 0.5, 1),)
            assert store.get_meta("format") == FORMAT
            assert store.get_meta("identity") == "{}"


def test_an_upgrade_that_is_broken_off_leaves_the_older_file(old: Path) -> None:
    connection = sqlite3.connect(old)
    connection.execute(
        "CREATE TABLE rollouts (key TEXT, rollout TEXT, checksum TEXT)"
    )  # the new column cannot be added
    connection.commit()
    connection.close()
    with pytest.raises(RunDirectoryError, match="duplicate column"):
        EvidenceStore(old)
    connection = sqlite3.connect(old)
    tables = {str(name) for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert known_format(connection, old, tables=tables) == "1"
    assert "checksum" not in str(connection.execute("SELECT sql FROM sqlite_master WHERE name = 'replies'").fetchone())
    connection.close()


def test_a_checksum_knows_the_record_and_its_key() -> None:
    assert row_checksum("replies", {"key": "a", "reply": "b"}) == checksum("a", "b")
    assert len({checksum(*pair) for pair in (("a", "b"), ("b", "a"), ("a", "c"), ("ab", ""))}) == 4


def test_what_to_do_about_damage_names_the_directory_as_a_shell_reads_it() -> None:
    assert "`skillopt recover 'runs/my run'`" in damage_advice(Path("runs/my run/evidence.sqlite"))
