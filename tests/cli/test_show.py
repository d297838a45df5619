"""`skillopt show`: from the run to a step, to a trajectory, to an edit."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Finished
from tests.cli.pseudo_terminal import on_a_terminal
from tests.support.commands import Command
from tests.support.runs import read_json


def test_a_person_walks_from_the_run_to_an_edit(command: Command, finished: Finished) -> None:
    run = finished.directory
    code, said, err = command("show", run)
    assert (code, err) == (0, "") and "improved: " in said
    code, said, _ = command("show", run, "--step", "1")
    assert code == 0 and "rollout" in said
    task = read_json(run / "steps" / "step_0001" / "rollout" / "results.json")[0]["id"]
    code, said, _ = command("show", run, "--step", "1", "--task", task)
    assert code == 0 and "## verdict" in said
    code, said, _ = command("show", run, "--step", "1", "--edit", "1")
    assert code == 0 and said.startswith("edit 1 of step 1: ")
    code, said, _ = command("show", run, "--task", task)
    assert code == 0 and "steps/step_0001/rollout" in said


def test_nothing_in_the_directory_changes(command: Command, finished: Finished, tmp_path: Path) -> None:
    run = shutil.copytree(finished.directory, tmp_path / "copy")
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    for words in ((), ("--step", "1"), ("--step", "1", "--edit", "1")):
        assert command("show", run, *words)[0] == 0
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (("--edit", "1"), 2, "--edit needs --step"),
        (("--step", "1", "--edit", "1", "--task", "t"), 2, "--edit needs --step"),
        (("--step", "99"), 2, "has no step 99"),
        (("--step", "1", "--edit", "99"), 2, "step 1 has no edit 99"),
        (("--step", "0", "--edit", "1"), 2, "step 0 has no edit 1"),
        (("--step", "1", "--edit", "0"), 2, "--edit"),
        (("--step", "1", "--draw", "1"), 2, "--draw needs --edit"),
        (("--step", "1", "--edit", "1", "--draw", "9"), 2, "step 1 has no edit 1 of draw 9"),
        (("--step", "1", "--task", "nobody\x1b[2J"), 2, "did not come up in step 1"),
        (("--task", "nobody"), 2, "did not come up in this run"),
        (("--step", "one"), 2, "--step"),
    ],
)
def test_what_there_is_not_is_one_message(
    command: Command, finished: Finished, words: tuple[str, ...], code: int, message: str
) -> None:
    said = command("show", finished.directory, *words)
    assert said[0] == code and message in said[2] and "\x1b" not in said[2]


def test_a_directory_that_is_no_runs_is_one_message(command: Command, tmp_path: Path) -> None:
    code, _, err = command("show", tmp_path)
    assert code == 1 and "is no run directory" in err


@pytest.mark.parametrize("columns", [20, 200])
def test_it_can_be_read_in_any_window(finished: Finished, tmp_path: Path, columns: int) -> None:
    for words in ((), ("--step", "1"), ("--step", "1", "--edit", "1")):
        code, said = on_a_terminal("show", finished.directory, *words, columns=columns, cwd=tmp_path)
        assert code == 0 and "Traceback" not in said
