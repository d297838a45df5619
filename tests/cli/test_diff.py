"""`skillopt diff`: two runs, or two skills."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Finished
from tests.cli.pseudo_terminal import on_a_terminal
from tests.support.commands import Command


def test_a_run_compared_with_itself_differs_in_nothing(command: Command, finished: Finished) -> None:
    code, said, err = command("diff", finished.directory, finished.directory)
    assert (code, err) == (0, "")
    assert "The settings are the same." in said and "The best skills are the same." in said
    assert "B better, A worse: 0" in said and "A better, B worse: 0" in said and "p = 1 " in said


def test_two_skills_are_compared_by_the_evidence_of_a_run_and_nothing_is_paid(
    command: Command, finished: Finished
) -> None:
    run = finished.directory
    files = (run / "skills" / "skill_v0000.md", run / "best_skill.md")
    evidence = (run / "evidence.sqlite").read_bytes()
    code, said, err = command("diff", *files, "--run", run)
    assert (code, err) == (0, "")
    assert "--- A\n+++ B\n" in said and "test: of 8 tasks A was measured on 8, B on 8, both on 8" in said
    assert (run / "evidence.sqlite").read_bytes() == evidence
    code, said, _ = command("diff", *files)
    assert code == 0 and "B on" not in said


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("run", "missing"), 2, "missing does not exist"),
        (("run", "skill.md"), 2, "not of one kind"),
        (("run", "run", "--run", "run"), 2, "--run goes with two skill files"),
        (("skill.md", "skill.md", "--run", "run"), 1, "run"),
        (("run", "run"), 1, "is no run directory"),
        (("run",), 2, "B"),
    ],
)
def test_what_cannot_be_compared_is_one_message(
    command: Command, tmp_path: Path, words: tuple[str, ...], code: int, message: str
) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "skill.md").write_text("# Skill\n", "utf-8")
    said = command("diff", *words)
    assert said[0] == code and message in said[2] and "Traceback" not in said[2]


@pytest.mark.parametrize("columns", [20, 200])
def test_it_can_be_read_in_any_window(finished: Finished, tmp_path: Path, columns: int) -> None:
    code, said = on_a_terminal("diff", finished.directory, finished.directory, columns=columns, cwd=tmp_path)
    assert code == 0 and "Traceback" not in said
