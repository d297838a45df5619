"""Where a run stands: at work, broken off, ended, gone; also across kills and new starts."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path

import pytest
from tests.support.records import committed, started

from skillopt.dashboard.catalogue import Catalogue, RunEntry
from skillopt.dashboard.following import Followers
from skillopt.events import Event, RunEnded
from skillopt.run.event_log import event_json
from skillopt.run.lock import locked


def write(run: Path, *events: Event) -> RunEntry:
    run.mkdir(exist_ok=True)
    with (run / "events.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(event_json(event, sequence=number) + "\n" for number, event in enumerate(events))
    found = Catalogue(run.parent).find(run.name)
    assert found is not None
    return found


def test_a_run_at_work_is_told_from_one_that_was_killed(tmp_path: Path) -> None:
    entry = write(tmp_path / "run", started(), committed(0))
    followers = Followers()
    with locked(entry.directory, command="train"):
        found = followers.look(entry)
        assert (found.state, found.word) == ("running", "running")
        assert found.holder is not None
        assert found.holder.command == "train"
    assert followers.look(entry).state == "broken off"


def test_another_command_in_the_directory_is_no_training(tmp_path: Path) -> None:
    entry = write(tmp_path / "run", started(), committed(0))
    with locked(entry.directory, command="eval"):
        found = Followers().look(entry)
    assert (found.state, found.holder and found.holder.command) == ("broken off", "eval")


def test_a_note_that_a_killed_process_left_keeps_no_run_alive(tmp_path: Path) -> None:
    entry = write(tmp_path / "run", started())
    note = {"command": "train", "process": 0, "host": socket.gethostname(), "since": ""}
    (entry.directory / "run.lock.json").write_text(json.dumps(note), "utf-8")
    assert Followers().look(entry).state == "broken off"


def test_a_run_is_followed_through_its_end_and_a_new_start(tmp_path: Path) -> None:
    run, followers = tmp_path / "run", Followers()
    entry = write(run)
    with locked(run, command="train"):
        assert followers.look(entry).state == "starting"
        write(run, started(), committed(0), committed(1))
        assert len(followers.look(entry).live.points) == 2
        write(run, RunEnded("improved", "good", {}))
    assert (followers.look(entry).state, followers.look(entry).word) == ("ended", "improved")
    with locked(run, command="train"):
        write(run, started(total_steps=20))
        found = followers.look(entry)
    assert (found.state, found.live.total_steps, found.live.points) == ("running", 20, ())


def test_a_log_that_is_cut_replaced_or_removed_is_followed(tmp_path: Path) -> None:
    run, followers = tmp_path / "run", Followers()
    entry = write(run, started(), committed(0), committed(1))
    assert len(followers.look(entry).live.points) == 2
    (run / "events.jsonl").write_text("", "utf-8")
    assert followers.look(entry).live.started is None
    (run / "events.jsonl").unlink()
    write(run, started(total_steps=3), committed(0))
    assert (followers.look(entry).live.total_steps, len(followers.look(entry).live.points)) == (3, 1)
    shutil.rmtree(run)
    assert followers.look(entry).state == "gone"
    write(run, started(total_steps=4))
    assert followers.look(entry).live.total_steps == 4


def test_a_log_that_is_the_same_is_not_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry, followers = write(tmp_path / "run", started(), committed(0)), Followers()
    first = followers.look(entry).live

    def fails(*_: object, **__: object) -> None:
        raise AssertionError("it was read")

    monkeypatch.setattr("skillopt.report.log_follower.read_events", fails)
    assert followers.look(entry).live is first
