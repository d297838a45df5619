"""Two skill files in a terminal."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Finished
from tests.support.commands import Command
from tests.support.runs import read_json

from skillopt.cli.skill_difference import show_skill_difference
from skillopt.errors import SkillError


def test_texts_and_sizes_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, two = tmp_path / "one.md", tmp_path / "two.md"
    one.write_text("# Skill\n\n- old\n", "utf-8")
    two.write_text("# Skill\n\n- new\x1b[2J\n", "utf-8")
    show_skill_difference(one, two, run=None)
    said = capsys.readouterr().out
    assert "-- old" in said and "+- new\ufffd[2J" in said and "tokens" in said
    show_skill_difference(one, one, run=None)
    assert "They are the same." in capsys.readouterr().out


def test_tasks_that_both_were_tried_on_are_compared_split_by_split(
    finished: Finished, capsys: pytest.CaptureFixture[str]
) -> None:
    run = finished.directory
    show_skill_difference(run / "skills" / "skill_v0000.md", run / "best_skill.md", run=run)
    said = capsys.readouterr().out
    seed, best = (read_json(run / name / "results.json") for name in ("test_eval_baseline", "test_eval"))
    better = [two["id"] for one, two in zip(seed, best, strict=True) if two["hard"] > one["hard"]]
    assert better
    test = said[said.index("test: of 8 tasks A was measured on 8") :]
    assert f"B better, A worse: {len(better)}: {', '.join(better)}" in test
    assert "train: of 16 tasks A was measured on" in said
    assert "selection: of 8 tasks A was measured on 8, B on 8, both on 8" in said
    assert "can be measured" not in said, "all of both splits was"


def test_what_is_missing_is_named_with_the_command_that_measures_it(
    command: Command, finished: Finished, tmp_path: Path
) -> None:
    run = shutil.copytree(finished.directory, tmp_path / "a run")
    seed, other = run / "skills" / "skill_v0000.md", tmp_path / "other.md"
    other.write_text("# Another skill\n", "utf-8")
    code, said, _ = command("diff", seed, other)
    assert (
        code == 0 and said.splitlines()[-1] == f"  {shlex.join(['skillopt', 'diff', str(seed), str(other)])} --run RUN"
    )
    code, said, _ = command("diff", seed, other, "--run", run)
    assert code == 0 and "selection: of 8 tasks A was measured on 8, B on 0, both on 0" in said
    program, *words = shlex.split(said.splitlines()[-1])
    assert program == "skillopt" and command(*words)[0] == 0
    code, said, _ = command("diff", seed, other, "--run", run)
    assert code == 0 and "selection: of 8 tasks A was measured on 8, B on 8, both on 8" in said
    assert "can be measured" not in said


def test_a_directory_that_is_no_run_is_said_ahead_of_all_else(command: Command, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("# Skill\n", "utf-8")
    (tmp_path / "two.md").write_text("# Other\n", "utf-8")
    code, said, err = command("diff", tmp_path / "one.md", tmp_path / "two.md", "--run", tmp_path)
    assert (code, said) == (1, "") and "is no run directory" in err


def test_a_file_that_is_no_skill_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_bytes(b"\xff\xfe")
    with pytest.raises(SkillError):
        show_skill_difference(tmp_path / "one.md", tmp_path / "one.md", run=None)
