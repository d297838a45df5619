"""`skillopt recover`: what it says of whole, damaged and missing evidence."""

from __future__ import annotations

import re
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
    assert "skillopt recover" in err
    code, said, _ = command("recover", "run")
    assert code == 0
    assert re.search(r"replies of the optimizer +[1-9]\d* +0 +0 *$", said, re.MULTILINE), said
    assert re.search(r"scored answers +[1-9]\d* +0 +0 *$", said, re.MULTILINE), said
    assert "The damaged file is kept: run/evidence.sqlite.damaged-1" in said
    assert command("train", config)[0] == ended[0]


def test_whole_evidence_is_called_whole(command: Command, tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path)
    command("train", config)
    code, said, _ = command("recover", "run")
    assert code == 0
    assert "evidence.sqlite is whole; nothing was changed" in said
    assert "scored answers" in said


def test_a_directory_without_evidence_is_an_error(command: Command, tmp_path: Path) -> None:
    code, said, err = command("recover", tmp_path)
    assert (code, said) == (1, "")
    assert "nothing to recover" in err
