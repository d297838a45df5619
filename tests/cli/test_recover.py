"""`skillopt recover`: what it says of whole, damaged and missing evidence."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.support.commands import Command, write_tiny_run


def test_damaged_evidence_is_recovered_and_the_run_goes_on(command: Command, tmp_path: Path) -> None:
    """The error of the training names the command, and the command says what became of each kind of record."""
    config = write_tiny_run(tmp_path)
    ended = command("train", config)
    evidence = tmp_path / "run" / "evidence.sqlite"
    evidence.write_bytes(b"x" * 100 + evidence.read_bytes()[100:])
    code, _, err = command("train", config)
    assert code == 1
    assert f"skillopt recover {evidence.parent}`" in err
    code, said, _ = command("recover", "run")
    assert code == 0
    for kind in ("replies", "trajectories", "rollouts", "payments", "notes of the run"):
        assert re.search(rf"{kind} +[1-9]\d* +0 +0 *$", said, re.MULTILINE), said
    assert "not what was written" not in said
    assert "must have been there" not in said
    assert "Which run it is" not in said
    assert "The damaged file is kept: run/evidence.sqlite.damaged-1" in said
    assert command("train", config)[0] == ended[0]


def test_whole_evidence_is_called_whole(command: Command, tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path)
    command("train", config)
    code, said, _ = command("recover", "run")
    assert code == 0
    assert "evidence.sqlite is whole; nothing was changed" in said
    assert re.search(r"\d+ rollouts, .*\d+ notes of the run", said)


def test_a_directory_without_evidence_is_an_error(command: Command, tmp_path: Path) -> None:
    code, said, err = command("recover", tmp_path)
    assert (code, said) == (1, "")
    assert "nothing to recover" in err


def test_what_is_damaged_and_that_nothing_names_the_run_any_more_is_said(command: Command, tmp_path: Path) -> None:
    command("train", write_tiny_run(tmp_path))
    with closing(sqlite3.connect(tmp_path / "run" / "evidence.sqlite")) as evidence:
        evidence.execute("UPDATE meta SET value = value || ' ' WHERE name = 'identity'")
        evidence.execute("DELETE FROM payments WHERE rowid = 1")
        evidence.commit()
    code, said, _ = command("recover", "run")
    assert code == 0
    assert re.search(r"notes of the run +[1-9]\d* +1 +0 *$", said, re.MULTILINE), said
    assert re.search(r"payments +[1-9]\d* +0 +1 *$", said, re.MULTILINE), said
    words = " ".join(said.split())
    assert "Damaged ones are there, but are not what was written. Missing ones must have been there" in words
    assert "Which run it is was noted there, and is lost." in words


def test_the_evidence_itself_in_place_of_its_directory_is_an_error_that_names_the_directory(
    command: Command, tmp_path: Path
) -> None:
    command("train", write_tiny_run(tmp_path))
    code, said, err = command("recover", "run/evidence.sqlite")
    assert (code, said) == (1, "")
    assert "Name the directory that it is in: run" in err
