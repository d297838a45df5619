"""Two skill files in a terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.cli.conftest import Finished
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
    test = said[said.index("test: A measured") :]
    assert f"B better, A worse: {len(better)}: {', '.join(better)}" in test
    assert "train: A measured on" in said and "selection: A measured on 8 tasks, B on 8, both on 8" in said


def test_a_file_that_is_no_skill_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "one.md").write_bytes(b"\xff\xfe")
    with pytest.raises(SkillError):
        show_skill_difference(tmp_path / "one.md", tmp_path / "one.md", run=None)
