"""What is noted of each tracker in trackers.json."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.support.runs import read_json

from skillopt.trackers.notes import NOTES_NAME, Note, Notes

NOTE = Note(place="here", run="7", steps=["aa", "bb"], end="cc", failures=1, last_failure="OSError: no")


def test_what_is_kept_is_found_by_the_next_start(tmp_path: Path) -> None:
    Notes(tmp_path).keep("mlflow", NOTE)
    assert Notes(tmp_path).of("mlflow", place="here") == NOTE
    assert read_json(tmp_path / NOTES_NAME) == {"mlflow": NOTE.model_dump()}


def test_another_place_and_another_tracker_have_nothing(tmp_path: Path) -> None:
    Notes(tmp_path).keep("mlflow", NOTE)
    assert Notes(tmp_path).of("mlflow", place="there") == Note(place="there")
    assert Notes(tmp_path).of("wandb", place="here") == Note(place="here")


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", '{"mlflow": 7}', '{"mlflow": {"steps": "aa"}}', '{"mlflow": {"run": 7}}', "[" * 99999]
)
def test_what_cannot_be_read_is_nothing(tmp_path: Path, text: str) -> None:
    """F16"""
    (tmp_path / NOTES_NAME).write_text(text, "utf-8")
    assert Notes(tmp_path).of("mlflow", place="") == Note()


def test_a_directory_in_its_place_is_nothing(tmp_path: Path) -> None:
    (tmp_path / NOTES_NAME).mkdir()
    assert Notes(tmp_path).of("mlflow", place="") == Note()


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
