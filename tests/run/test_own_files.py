"""What makes a directory a run's, what a run refuses to write over, and what gives way to its files."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
from tests.run.conftest import Finished

from skillopt.errors import RunDirectoryError
from skillopt.run.own_files import (
    aside_name,
    clear_the_way,
    damaged_files,
    is_view,
    refuse_emptied,
    refuse_foreign_files,
    remove_played,
    remove_views,
)


def write(directory: Path, *names: str, content: str = "{}") -> None:
    for name in names:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, "utf-8")


def refusal(directory: Path) -> str:
    with pytest.raises(RunDirectoryError) as raised:
        refuse_foreign_files(directory)
    return str(raised.value)


@pytest.mark.parametrize("names", [(), ("evidence.sqlite", "history.json"), ("notes.txt",), ("run.lock",)])
def test_an_empty_directory_a_run_and_files_of_no_concern_are_fine(tmp_path: Path, names: tuple[str, ...]) -> None:
    write(tmp_path, *names)
    refuse_foreign_files(tmp_path)


def test_files_that_a_run_would_write_over_are_named(tmp_path: Path) -> None:
    write(tmp_path, "config.yaml", "skills/one.md")
    assert "no run directory" in refusal(tmp_path)
    assert "config.yaml, skills" in refusal(tmp_path)


@pytest.mark.parametrize(
    "names", [("history.json", "run.lock"), ("best_skill.md", "events.jsonl"), ("evidence.sqlite-wal",)]
)
def test_a_run_whose_evidence_alone_is_gone_is_told_what_is_missing(tmp_path: Path, names: tuple[str, ...]) -> None:
    write(tmp_path, *names)
    assert f"{tmp_path / 'evidence.sqlite'} is missing" in refusal(tmp_path)
    assert "Put evidence.sqlite back, with evidence.sqlite-wal" in refusal(tmp_path)


def test_a_damaged_file_that_was_moved_aside_is_named(tmp_path: Path) -> None:
    write(tmp_path, "evidence.sqlite.damaged-1")
    assert f"skillopt recover {tmp_path}" in refusal(tmp_path)


@pytest.mark.parametrize("other", ["evidence.sqlite-wal", "history.json"])
def test_an_empty_file_is_no_new_run_where_there_is_more(tmp_path: Path, other: str) -> None:
    """SQLite would take it for a new database, and delete the log that belongs to it."""
    write(tmp_path, "evidence.sqlite", content="")
    refuse_foreign_files(tmp_path)
    write(tmp_path, other)
    assert "is empty" in refusal(tmp_path)


def test_a_history_without_a_record_behind_it_is_refused(tmp_path: Path) -> None:
    refuse_emptied(tmp_path)
    write(tmp_path, "history.json")
    with pytest.raises(RunDirectoryError, match="holds nothing, although the run has a history"):
        refuse_emptied(tmp_path)


def test_what_stands_in_the_place_of_a_file_is_renamed_and_kept(tmp_path: Path) -> None:
    write(tmp_path, "history.json/mine.txt", "steps/step_0001/patches", "steps/step_0002/rollout/trajectories/a.md/b")
    write(tmp_path, "selection_eval_baseline", content="mine")
    said = clear_the_way(tmp_path)
    assert [sentence.split(" was in the place")[0] for sentence in said] == [
        str(tmp_path / name)
        for name in (
            "history.json",
            "selection_eval_baseline",
            "steps/step_0001/patches",
            "steps/step_0002/rollout/trajectories/a.md",
        )
    ]
    assert (tmp_path / "history.json.aside-1" / "mine.txt").is_file()
    assert (tmp_path / "selection_eval_baseline.aside-1").read_text("utf-8") == "mine"
    assert clear_the_way(tmp_path) == ()


def test_what_is_in_its_place_or_none_of_ours_stays(tmp_path: Path) -> None:
    write(tmp_path, "history.json", "steps/step_0001/step_record.json", "notes/skills", "README", "mine.json/a")
    before = sorted(tmp_path.rglob("*"))
    assert clear_the_way(tmp_path) == ()
    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_that_leads_nowhere_gives_way_to_a_directory(tmp_path: Path) -> None:
    (tmp_path / "steps").symlink_to(tmp_path / "nowhere")
    assert len(clear_the_way(tmp_path)) == 1
    assert not (tmp_path / "steps").is_symlink()


def test_the_names_of_what_is_moved_aside_are_free_and_come_back_in_order(tmp_path: Path) -> None:
    evidence = tmp_path / "evidence.sqlite"
    names = [
        aside_name(evidence, "damaged")
        for _ in range(11)
        if write(tmp_path, aside_name(evidence, "damaged").name) is None
    ]
    assert names[-1].name == "evidence.sqlite.damaged-12"
    write(tmp_path, "evidence.sqlite.damaged-1-wal")
    assert [path.name for path in damaged_files(tmp_path)] == [f"evidence.sqlite.damaged-{n}" for n in range(1, 12)]


def test_a_view_is_known_by_name_and_place(tmp_path: Path) -> None:
    ours = ("history.json", "patches/patch_012_failure.json", "rollout/trajectories/any.md", "skills/skill_v0001.md")
    others = (
        "evidence.sqlite",
        "notes.md",
        "mine.json",
        "run.lock",
        "rollout.aside-1/results.json",
        "noise.json",
        "notes/results.json",
    )
    for directory in (tmp_path, tmp_path / "old.aside-1" / "run"):
        assert all(is_view(directory / name, directory=directory) for name in ours), "wherever the run directory lies"
        assert not any(is_view(directory / name, directory=directory) for name in others)


def test_views_are_removed_with_the_directories_that_are_empty_then(tmp_path: Path) -> None:
    step = tmp_path / "step"
    write(
        step, "rollout/results.json", "rollout/trajectories/a.md", "patches/mine.txt", "patches/patch_001_failure.json"
    )
    write(step, "notes/results.json")
    (step / "my empty one").mkdir()
    remove_views(step)
    assert {path.relative_to(step).as_posix() for path in step.rglob("*")} == {
        "my empty one", "notes", "notes/results.json", "patches", "patches/mine.txt",
    }  # fmt: skip
    remove_views(tmp_path / "none")


def test_nothing_is_removed_or_renamed_through_a_link(tmp_path: Path) -> None:
    elsewhere, run = tmp_path / "elsewhere", tmp_path / "run"
    write(elsewhere, "results.json", "skills", "step_0001/results.json")
    (elsewhere / "config.yaml").mkdir()
    before = sorted(elsewhere.rglob("*"))
    for link in ("steps/step_0001", "steps/step_0002/rollout", "skills", "best_skill.md", "test_eval"):
        (run / link).parent.mkdir(parents=True, exist_ok=True)
        (run / link).symlink_to(elsewhere)
    remove_views(run / "steps")
    remove_views(run / "skills")
    remove_played(run)
    assert sorted(elsewhere.rglob("*")) == before
    assert len(clear_the_way(run)) == 5
    assert sorted(elsewhere.rglob("*")) == before
    assert (run / "skills.aside-1").readlink() == elsewhere


@pytest.mark.parametrize("name", ["evidence.sqlite", "evidence.sqlite-wal", "run.lock"])
def test_evidence_or_a_lock_that_is_a_link_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).symlink_to(tmp_path / "elsewhere")
    assert f"{tmp_path / name} is a link" in refusal(tmp_path)


@pytest.mark.parametrize("refusing", ["rename", "unlink"])
def test_what_the_system_does_not_let_go_is_an_error_for_a_person(
    tmp_path: Path, refusing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, refusing, refuse)
    write(tmp_path, "steps/results.json", "skills", "history.json")
    for clear in (clear_the_way,) if refusing == "rename" else (remove_views, remove_played):
        with pytest.raises(RunDirectoryError, match="Permission denied"):
            clear(tmp_path)


def test_every_file_of_a_run_is_a_view_or_kept_apart(finished: Finished) -> None:
    apart = {"evidence.sqlite", "run.lock"}
    files = [path for path in finished.directory.rglob("*") if path.is_file()]
    assert {path.name for path in files if not is_view(path, directory=finished.directory)} <= apart
