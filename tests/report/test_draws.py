"""The draws of a step as pages show them."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.support.runs import read_json

from skillopt.report.draws import draws, skill_diff
from skillopt.report.run_files import RunFiles


def test_every_draw_has_its_own_decision_edits_and_flips(eventful: Path) -> None:
    files, lost = RunFiles(eventful), 0
    for record in files.records[1:]:
        found = draws(files, record["step"], record, most_lines=1_000)
        assert [one.reason for one in found] == [record["reason"], *(one["reason"] for one in record["redraws"])]
        for number, one in enumerate(found):
            assert one.flips == files.flips(record["step"], draw=number)
            own = read_json(eventful / one.files.place / "edit_apply_report.json")
            assert [edit.status for edit in one.edits][: len(own)] == [row["status"] for row in own]
            skill = (eventful / one.files.place / "candidate_skill.md").read_text("utf-8")
            assert one.change == skill_diff(files.skill(record["step"] - 1) or "", skill, most=1_000)
        lost += len(found) - 1
    assert lost, "the run has a draw that lost"


def test_a_step_without_a_record_yet_shows_its_files(eventful: Path) -> None:
    (found, *_) = draws(RunFiles(eventful), 1, {}, most_lines=10)
    assert (found.action, found.reason) == ("", "") and found.edits


def test_a_step_that_left_nothing_has_no_draws(eventful: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(eventful, tmp_path / "copy")
    shutil.rmtree(copy / "steps" / "step_0002")
    files = RunFiles(copy)
    assert draws(files, 2, files.records[2], most_lines=10) == ()


def test_a_difference_counts_its_lines() -> None:
    found = skill_diff("a\nb\n", "a\nc\nd\n", most=10)
    assert (found.added, found.removed, found.left_out) == (2, 1, 0)


def test_a_long_difference_is_shown_in_part_and_counted_whole() -> None:
    """A page of many rewrites of a long skill has to stay small."""
    found = skill_diff("", "line\n" * 500, most=100)
    assert (len(found.lines), found.added, found.left_out) == (100, 500, 400)
