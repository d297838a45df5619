"""What is noted of each tracker in trackers.json."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest
from tests.support.runs import read_json

from skillopt.trackers.notes import NOTES_NAME, Note, Notes

NOTE = Note(place="here", run="7", steps=["aa", "bb"], end="cc", failures=1, last_failure="OSError: no")


def test_what_is_kept_is_found_by_the_next_start(tmp_path: Path) -> None:
    Notes(tmp_path).keep("mlflow", NOTE)
    assert read_json(tmp_path / NOTES_NAME) == {"mlflow": NOTE.model_dump()}
    assert Notes(tmp_path).of("mlflow", place="here") == NOTE.model_copy(update={"directory": str(tmp_path)})


def test_another_place_and_another_tracker_have_nothing(tmp_path: Path) -> None:
    Notes(tmp_path).keep("mlflow", NOTE)
    assert Notes(tmp_path).of("mlflow", place="there") == Note(place="there", directory=str(tmp_path))
    assert Notes(tmp_path).of("wandb", place="here") == Note(place="here", directory=str(tmp_path))


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '{"mlflow": 7}', '{"mlflow": {"steps": "aa"}}', '{"mlflow": {"run": 7}}', "[" * 99999]
)
def test_what_cannot_be_read_is_nothing(tmp_path: Path, text: str) -> None:
    """F16"""
    (tmp_path / NOTES_NAME).write_text(text, "utf-8")
    assert Notes(tmp_path).of("mlflow", place="") == Note(directory=str(tmp_path))


def test_a_directory_in_its_place_is_nothing(tmp_path: Path) -> None:
    (tmp_path / NOTES_NAME).mkdir()
    assert Notes(tmp_path).of("mlflow", place="") == Note(directory=str(tmp_path))


def told(directory: Path, run: str = "7") -> Note:
    """Note of a tracker's run what a start in a directory does."""
    notes = Notes(directory)
    note = notes.of("mlflow", place="here")
    notes.keep("mlflow", note.model_copy(update={"run": note.run or run, "steps": ["aa"]}))
    return Notes(directory).of("mlflow", place="here")


def test_a_copy_of_a_run_directory_is_told_to_a_run_of_its_own_and_the_original_goes_on(tmp_path: Path) -> None:
    original, copy, another = (tmp_path / name for name in ("original", "copy", "another"))
    original.mkdir()
    told(original)
    for made, of in ((copy, original), (another, copy)):
        shutil.copytree(of, made)
        fresh = Notes(made).of("mlflow", place="here")
        assert (fresh.run, fresh.steps) == (None, []), "also a copy of a copy that was not started yet"
    assert told(copy, "8").run == "8" and told(another, "9").run == "9"
    assert [told(directory).run for directory in (original, copy, another)] == ["7", "8", "9"]


def test_a_run_directory_that_was_moved_goes_on_in_its_run(tmp_path: Path) -> None:
    """Also where something else is in its old place by now, and where a link led there."""
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    told(old)
    old.rename(new)
    assert Notes(new).of("mlflow", place="here").run == "7"
    old.mkdir()
    assert Notes(new).of("mlflow", place="here").run == "7"
    told(old, "8")
    assert Notes(new).of("mlflow", place="here").run == "7"
    assert Notes(new).of("mlflow", place="here").directory == str(new)
    shutil.copytree(new, tmp_path / "copy")
    assert Notes(tmp_path / "copy").of("mlflow", place="here").run is None, "although nothing was told since the move"
    shutil.rmtree(old)
    old.symlink_to(new, target_is_directory=True)
    assert told(old).run == "7"


def test_after_the_end_nothing_is_written(tmp_path: Path) -> None:
    """More 15: what comes late would write into a directory that is another start's by then."""
    notes = Notes(tmp_path)
    notes.keep("mlflow", NOTE)
    before = (tmp_path / NOTES_NAME).read_bytes()
    notes.close()
    notes.keep("mlflow", Note())
    assert (tmp_path / NOTES_NAME).read_bytes() == before


def test_two_trackers_keep_their_notes_at_once(tmp_path: Path) -> None:
    notes = Notes(tmp_path)

    def keep(name: str) -> None:
        for number in range(20):
            notes.keep(name, Note(run=str(number)))

    threads = [threading.Thread(target=keep, args=[name]) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: note["run"] for name, note in read_json(tmp_path / NOTES_NAME).items()} == {"a": "19", "b": "19"}
