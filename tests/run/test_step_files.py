"""The readable files of a step, and that no task's id can lead out of its directory."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.run.conftest import Finished
from tests.support.runs import read_json
from tests.support.values import append, patch, rollout, unmeasured

from skillopt.run.step_files import patch_json, rollout_row, write_rollouts
from skillopt.text_files import plain
from skillopt.types import Discarded, EditState, Rollout, Score, Task, Trajectory

HOSTILE = [
    "../x", "..", ".", "", "a/b", "a\\b", "/etc/passwd", "CON", "con", "Con", "nul.md", "x" * 300, "x" * 299 + "y",
    "a\0b", "a\nb", "?*:|<>\"", "é", "e\u0301", "\ud800", "任务", "task.", "task ",
]  # fmt: skip


def with_id(identifier: str) -> Rollout:
    return replace(rollout(1, 1), task=Task(identifier, {"question": "q", "answer": "a"}))


@pytest.mark.parametrize("identifiers", [HOSTILE, ["a", "A"]])
def test_no_id_leads_out_of_the_directory_and_no_two_share_a_file(tmp_path: Path, identifiers: list[str]) -> None:
    inside, beside = tmp_path / "run" / "rollout", tmp_path / "run" / "beside"
    beside.mkdir(parents=True)
    write_rollouts(inside, [with_id(identifier) for identifier in identifiers])
    pages = list((inside / "trajectories").iterdir())
    assert len({page.name.casefold() for page in pages}) == len(identifiers)
    assert all(page.is_file() and page.resolve().parent == inside / "trajectories" for page in pages)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(files) == sorted([*pages, inside / "results.json"])
    rows = read_json(inside / "results.json")
    assert [row["id"] for row in rows] == identifiers


@given(st.lists(st.text(max_size=12), min_size=2, max_size=6, unique=True))
def test_any_ids_give_as_many_pages(tmp_path_factory: pytest.TempPathFactory, identifiers: list[str]) -> None:
    directory = tmp_path_factory.mktemp("any")
    write_rollouts(directory, [with_id(identifier) for identifier in identifiers])
    assert len(list((directory / "trajectories").iterdir())) == len(identifiers)
    assert {path.name for path in directory.iterdir()} == {"trajectories", "results.json"}


def test_a_trajectory_is_a_page_with_its_verdict(tmp_path: Path) -> None:
    write_rollouts(tmp_path, [rollout(3, 0, 0.25, said="maybe b", feedback="Expected a3, got b.")])
    (page,) = (tmp_path / "trajectories").iterdir()
    assert page.read_text("utf-8") == (
        "# t3\n\n## user\n\nq3\n\n## assistant\n\nmaybe b\n\n## verdict\n\n"
        "failed, partial credit 0.250. Expected a3, got b.\n"
    )


def test_what_was_not_measured_has_a_reason_in_place_of_a_score(tmp_path: Path) -> None:
    """F1, F9."""
    row = rollout_row(unmeasured(2))
    assert row["status"] == "error"
    assert row["failure"]["message"] == "outage"
    assert not {"hard", "soft"} & row.keys()
    write_rollouts(tmp_path, [unmeasured(2)])
    assert not (tmp_path / "trajectories").exists()


def test_pages_and_rows_act_on_no_terminal(tmp_path: Path) -> None:
    """A task or a model that wrote control characters into them would colour, clear or turn round what people read."""
    hostile = "\x1b[2J\x9b2J\u202e"
    done = rollout(1, said=hostile, feedback=hostile)
    write_rollouts(tmp_path, [done])
    (page,) = (tmp_path / "trajectories").iterdir()
    for path in (page, tmp_path / "results.json"):
        text = path.read_text("utf-8")
        assert plain(text) == text
    assert read_json(tmp_path / "results.json")[0]["response"] == hostile


def test_a_row_has_the_public_fields() -> None:
    trajectory = Trajectory((), "whole reply", "length")
    row = rollout_row(Rollout(Task("1", {}), "d", trajectory=trajectory, score=Score(1, 1.0, "Right.", "reply")))
    assert row == {
        "id": "1", "category": "", "repeat": 0, "status": "ok", "hard": 1, "soft": 1.0, "predicted_answer": "reply",
        "fail_reason": "", "n_turns": 0, "finish_reason": "length", "response": "whole reply",
    }  # fmt: skip


def test_a_patch_shows_what_was_dropped_and_why() -> None:
    dropped = Discarded('{"op": "rewrite"}', EditState.INVALID, "op is 'rewrite'")
    shown = patch_json(replace(patch(append("a", support=2, tasks=[1]), tasks=[1, 2]), discarded=(dropped,)))
    assert shown["task_ids"] == ["t1", "t2"]
    assert shown["edits"] == [
        {"op": "append", "target": "", "content": "a", "support_count": 2, "source_type": "failure",
         "merge_level": 0, "task_ids": ["t1"]}
    ]  # fmt: skip
    assert shown["discarded"] == [{"status": "invalid", "detail": "op is 'rewrite'", "entry": '{"op": "rewrite"}'}]


def test_every_stage_of_a_step_can_be_read(finished: Finished) -> None:
    """More 11: the state of each edit, and the failing tasks it came from."""
    for record in finished.history[1:]:
        directory = finished.step_directory(record)
        names = {path.name for path in directory.iterdir()}
        assert names - {"patches", "selection_eval"} == {
            "rollout", "merged_patch.json", "ranked_edits.json", "edit_apply_report.json", "candidate_skill.md",
            "step_record.json", "dropped_replies.json", "memorised.json",
        }  # fmt: skip
        batch = {row["id"] for row in read_json(directory / "rollout" / "results.json")}
        for outcome in read_json(directory / "edit_apply_report.json"):
            assert outcome["status"] in set(EditState)
            assert outcome["task_ids"]
            assert set(outcome["task_ids"]) <= batch
            if outcome["status"] == "applied" and outcome["content"]:
                assert outcome["content"] in (directory / "candidate_skill.md").read_text("utf-8")


def test_all_of_it_is_json_and_utf8(finished: Finished) -> None:
    for path in finished.directory.rglob("*.json"):
        assert path.read_text("utf-8") == json.dumps(read_json(path), indent=2, ensure_ascii=False) + "\n"
