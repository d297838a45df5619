"""What may stand for a run, and what is said of anything else."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import write_tiny_run
from tests.support.records import record

from skillopt.api import train
from skillopt.errors import DataError, RunDirectoryError
from skillopt.report.run_source import ACCEPTED_SOURCES, read_history


def test_a_directory_its_history_and_their_names_as_text_are_one_run(eventful: Path) -> None:
    histories = [
        read_history(source)
        for source in (eventful, str(eventful), eventful / "history.json", str(eventful / "history.json"))
    ]
    assert len(histories[0].records) == 9
    for history in histories:
        assert history.records == histories[0].records
        assert history.name == "run"
        assert history.files is not None and history.files.directory == eventful
        assert [point.step for point in history.course.points] == list(range(9))


def test_what_a_training_returned_is_its_run(tmp_path: Path) -> None:
    outcome = asyncio.run(train(write_tiny_run(tmp_path)))
    history = read_history(outcome)
    assert history.records == read_history(tmp_path / "run").records != ()
    assert history.files is not None and history.files.summary == outcome.summary


def test_a_history_that_was_copied_elsewhere_is_known_by_its_file(eventful: Path, tmp_path: Path) -> None:
    copy = tmp_path / "größer als vorher, 2.json"
    shutil.copy(eventful / "history.json", copy)
    history = read_history(copy)
    assert (history.name, history.files, len(history.records)) == ("größer als vorher, 2", None, 9)
    assert history.course.name == "größer als vorher, 2"


def test_records_may_come_one_by_one() -> None:
    history = read_history(record(step, reason="r") for step in range(3))
    assert [one["step"] for one in history.records] == [0, 1, 2]
    assert history.course.name == "records"


def test_a_run_without_a_baseline_has_no_records_and_no_course(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").touch()
    history = read_history(tmp_path)
    assert history.records == ()
    with pytest.raises(RunDirectoryError, match="no baseline yet"):
        _ = history.course


@pytest.mark.parametrize("place", ["", "no such run", "a\0b", "no such run/history.json", "~nobody-of-this-name/run"])
def test_a_path_that_leads_to_no_run_is_an_error_that_says_what_would(place: str, tmp_path: Path) -> None:
    source = f"{tmp_path}/{place}" if not place.startswith("~") else place
    with pytest.raises(RunDirectoryError):
        read_history(source)


def test_a_missing_path_is_told_with_what_could_be_given(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match=r"missing is neither a run directory nor a history\.json") as error:
        read_history(tmp_path / "missing")
    assert error.value.hint == ACCEPTED_SOURCES


@pytest.mark.parametrize("text", ['{"step": 0}', "[1]", "[", "", "\ufeff[]"])
def test_a_file_that_is_no_history_is_named(text: str, tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text(text, "utf-8")
    with pytest.raises(RunDirectoryError, match=r"other\.json"):
        read_history(tmp_path / "other.json")


@pytest.mark.parametrize(("source", "told"), [([1], "int"), (record(0), "str"), ([record(0), None], "NoneType")])
def test_what_is_no_record_is_told_by_its_type(source: Any, told: str) -> None:
    """A single record in place of a list of them is a mistake that is easily made."""
    with pytest.raises(DataError, match=f"record [01] is of type {told}"):
        read_history(source)


@pytest.mark.parametrize("records", [[], [{"step": 0}], [{**record(0), "total_usage": {}}]])
def test_records_of_something_else_have_no_course(records: list[dict[str, Any]]) -> None:
    with pytest.raises(DataError, match="records: these are no records of a training"):
        _ = read_history(records).course


def test_the_history_of_a_copy_holds_what_the_file_does(eventful: Path, tmp_path: Path) -> None:
    records = json.loads((eventful / "history.json").read_text("utf-8"))
    assert list(read_history(records).records) == records


@pytest.mark.parametrize("source", [None, 3, float("nan"), object()], ids=lambda one: type(one).__name__)
def test_what_is_no_run_at_all_is_told_by_its_type(source: Any) -> None:
    with pytest.raises(DataError, match=f"from a value of type {type(source).__name__}") as error:
        read_history(source)
    assert error.value.hint == ACCEPTED_SOURCES
