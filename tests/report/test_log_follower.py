"""Following the log of a run, look by look."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.records import committed, started

from skillopt.errors import RunDirectoryError
from skillopt.events import Event
from skillopt.report.live_state import NOTHING
from skillopt.report.log_follower import LogFollower
from skillopt.run.event_log import event_json


def write(path: Path, *events: Event) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.writelines(event_json(event, sequence=number) + "\n" for number, event in enumerate(events))


def test_each_look_knows_what_was_appended_since(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    follower = LogFollower(log)
    assert follower.look() == NOTHING
    write(log, started())
    assert follower.look().started == started()
    write(log, committed(0), committed(1))
    assert [point.step for point in follower.look().points] == [0, 1]
    assert follower.look() is follower.known


def test_a_new_start_a_new_file_and_no_file_are_followed(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    follower = LogFollower(log)
    write(log, started(), committed(0), committed(1))
    follower.look()
    write(log, started(total_steps=9))
    assert (follower.look().total_steps, follower.known.points) == (9, ())
    log.unlink()
    assert follower.look() == NOTHING
    write(log, started(total_steps=3), committed(0))
    assert (follower.look().total_steps, len(follower.known.points)) == (3, 1)


def test_a_record_that_lacks_something_is_an_error_with_its_file(tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    event = committed(0)
    write(log, type(event)({key: value for key, value in event.record.items() if key != "val_n"}))
    with pytest.raises(RunDirectoryError, match=r"events\.jsonl.*val_n"):
        LogFollower(log).look()
