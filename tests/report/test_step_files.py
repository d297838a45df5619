"""What a step, a slow update and a meta skill left, file by file."""

from __future__ import annotations

from pathlib import Path

from tests.support.runs import read_json

from skillopt.report.reading import DirectoryReader
from skillopt.report.run_files import RunFiles
from skillopt.report.step_files import read_meta_skill, read_slow_update, read_step


def test_a_step_has_all_that_its_files_hold(eventful: Path) -> None:
    for step in RunFiles(eventful).steps:
        place = eventful / f"steps/step_{step:04d}"
        found = read_step(DirectoryReader(eventful), step)
        assert [row.id for row in found.rollout] == [row["id"] for row in read_json(place / "rollout/results.json")]
        report = read_json(place / "edit_apply_report.json")
        assert [(edit.status, edit.content) for edit in found.draw.outcomes] == [
            (row["status"], row["content"]) for row in report
        ]
        assert [patch.reasoning for patch in found.draw.patches] == [
            read_json(path)["reasoning"] for path in sorted((place / "patches").glob("*.json"))
        ]
        assert found.draw.candidate == (place / "candidate_skill.md").read_text("utf-8")
        assert found.draw.merged is not None
        assert len(found.draw.ranked.edits) == read_json(place / "step_record.json")["n_edits_ranked"]
        assert len(found.lost) == len(read_json(place / "step_record.json")["redraws"])
        assert bool(found.refresh) == (read_json(place / "step_record.json")["refresh"] is not None)
        assert bool(found.draw.selection_again) == (place / "selection_eval_again").exists()


def test_a_draw_that_lost_stands_in_a_place_of_its_own(eventful: Path) -> None:
    steps = [read_step(DirectoryReader(eventful), step) for step in RunFiles(eventful).steps]
    lost = [(step, draw) for step in steps for draw in step.lost]
    assert lost, "the run redraws"
    assert all(draw.place == f"steps/step_{step.step:04d}/draw_01" for step, draw in lost)
    assert all(draw.candidate is not None for _, draw in lost)


def test_a_slow_update_has_its_result_and_its_pairs(eventful: Path) -> None:
    found = read_slow_update(DirectoryReader(eventful), 2)
    assert found is not None
    result = read_json(eventful / "slow_update/epoch_02/slow_result.json")
    assert found.result.slow_update_content == result["slow_update_content"]
    assert found.result.action == result["action"]
    assert sum(found.result.pairs.values()) == len(found.pairs) + found.result.pairs["unmeasured"]
    assert {pair.category for pair in found.pairs} <= {"improved", "regressed", "persistent_fail", "stable_success"}
    assert found.candidate is not None


def test_a_meta_skill_has_the_memory(eventful: Path) -> None:
    found = read_meta_skill(DirectoryReader(eventful), 2)
    assert found is not None
    assert found.result.memory == read_json(eventful / "meta_skill/epoch_02/meta_skill_result.json")["memory"]
    assert found.pairs == (), "the slow update shows them"


def test_an_epoch_without_them_has_none(eventful: Path) -> None:
    assert read_slow_update(DirectoryReader(eventful), 1) is None
    assert read_meta_skill(DirectoryReader(eventful), 1) is None
