"""The one log of a run: typed, a line an event, appended by every start, the same for all who watch."""

from __future__ import annotations

import dataclasses
import json
import os
from datetime import datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.run.conftest import Finished
from tests.support.runs import write_run

from skillopt import events
from skillopt.api import train
from skillopt.errors import RunDirectoryError
from skillopt.events import (
    EpochStageCommitted,
    Event,
    RunEnded,
    RunStarted,
    Spent,
    StageProgress,
    StageStarted,
    StepCommitted,
    Warned,
)
from skillopt.run.event_log import FORMAT_VERSION, EventLog, event_json


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def logged(event: Event) -> dict[str, Any]:
    """An event as its line shows it, without what the log adds."""
    row = json.loads(event_json(event, sequence=0))
    return {key: value for key, value in row.items() if key not in ("version", "sequence", "time")}


def test_a_line_says_the_type_the_number_and_the_time_of_its_event() -> None:
    row = json.loads(event_json(Warned("the sky is falling"), sequence=7))
    assert datetime.fromisoformat(row.pop("time")).utcoffset() is not None
    assert row == {"version": FORMAT_VERSION, "sequence": 7, "event": "Warned", "message": "the sky is falling"}


def test_a_line_acts_on_no_terminal_and_any_stream_can_carry_it() -> None:
    hostile = "\x1b[2J\x9b2J\u202e\ud800日本\x7f\n"
    line = event_json(Warned(hostile), sequence=0)
    assert line.isascii() and line.isprintable()
    assert json.loads(line)["message"] == hostile


def test_every_type_of_event_can_be_logged() -> None:
    known = {kind.__name__ for kind in get_args(Event)}
    assert known == {name for name, value in vars(events).items() if dataclasses.is_dataclass(value)}
    some: list[Event] = [
        RunStarted("run", 3, 1, {"train": 2}, {"target": "a:b"}, simulated=False),
        StageStarted("rollout", 1, 1, 4),
        StageProgress("rollout", 1, 1, 1, 4),
        Spent({"target": 1}, {"target": 1}, {"target": 9}, {"target": None}),
        StepCommitted({"step": 1}),
        EpochStageCommitted("slow_update", 2, {"step": 1}),
        Warned("w"),
        RunEnded("improved", "m", {}),
    ]
    assert {logged(event)["event"] for event in some} == known


def test_subscribers_get_the_events_that_the_file_gets_in_the_same_order(finished: Finished) -> None:
    rows = lines(finished.directory / "events.jsonl")
    assert [row["sequence"] for row in rows] == list(range(len(rows)))
    assert [logged(event) for event in finished.events] == [
        {key: value for key, value in row.items() if key not in ("version", "sequence", "time")} for row in rows
    ]


def test_a_log_begins_with_the_start_and_ends_with_the_end(finished: Finished) -> None:
    rows = lines(finished.directory / "events.jsonl")
    assert rows[0]["event"] == "RunStarted"
    assert (rows[0]["run_directory"], rows[0]["total_steps"], rows[0]["num_epochs"]) == ("run", 10, 2)
    assert (rows[0]["tasks"], rows[0]["simulated"]) == ({"train": 20, "val": 10, "test": 10}, True)
    assert rows[-1]["event"] == "RunEnded"
    assert rows[-1]["summary"] == finished.summary
    committed = [row["record"] for row in rows if row["event"] == "StepCommitted"]
    assert committed == finished.history


def test_stages_come_in_the_order_of_the_method(finished: Finished) -> None:
    rows = lines(finished.directory / "events.jsonl")
    first = [row["stage"] for row in rows if row["event"] == "StageStarted" and row["step"] <= 1]
    assert first == ["baseline", "rollout", "reflect", "aggregate", "select", "update", "gate"]
    assert [row["stage"] for row in rows if row["event"] == "StageStarted"][-1] == "test"


def test_every_rollout_is_progress_of_its_stage_and_of_the_spending(finished: Finished) -> None:
    rows = lines(finished.directory / "events.jsonl")
    baseline = [row for row in rows if row["event"] == "StageProgress" and row["stage"] == "baseline"]
    assert [row["done"] for row in baseline] == list(range(1, 11))
    assert {(row["total"], row["outcome"], row["recorded"]) for row in baseline} == {(10, "failed", False)}
    spent = [row for row in rows if row["event"] == "Spent"][-1]
    total = finished.summary["total_usage"]
    assert spent["used_calls"] == spent["paid_calls"] == {role: total[role]["calls"] for role in total}
    assert spent["dollars"] == {"target": 0.0, "optimizer": 0.0}


async def test_a_later_start_appends_its_own_session(tmp_path: Path) -> None:
    config = write_run(tmp_path)
    await train(config)
    log = tmp_path / "run" / "events.jsonl"
    first = log.read_bytes()
    await train(config)
    assert log.read_bytes().startswith(first)
    rows = lines(log)
    starts = [number for number, row in enumerate(rows) if row["event"] == "RunStarted"]
    assert starts == [0, len(first.splitlines())]
    assert rows[starts[1]]["sequence"] == 0
    again = [row for row in rows[starts[1] :] if row["event"] == "StageProgress" and row["detail"]]
    assert all(row["recorded"] for row in again)
    assert [row for row in rows if row["event"] == "Spent"][-1]["paid_calls"] == {"target": 0, "optimizer": 0}


def test_a_line_that_a_kill_cut_short_does_not_swallow_the_next_start(tmp_path: Path) -> None:
    """F16, F83."""
    path = tmp_path / "events.jsonl"
    path.write_text('{"event": "RunStarted"}\n{"event": "StepCommitted", "rec', "utf-8")
    with EventLog(path) as log:
        log.emit(Warned("on"))
    first, cut, last = path.read_text("utf-8").splitlines()
    assert (json.loads(first)["event"], json.loads(last)["event"]) == ("RunStarted", "Warned")
    assert cut == '{"event": "StepCommitted", "rec'


def test_whatever_an_id_or_a_message_holds_is_one_line(tmp_path: Path) -> None:
    hostile = 'a\nb\r\u2028"\x00\ud800</script>'
    with EventLog(tmp_path / "events.jsonl") as log:
        log.emit(StageProgress("rollout", 1, 1, 1, 1, detail=hostile))
    (line,) = (tmp_path / "events.jsonl").read_bytes().removesuffix(b"\n").split(b"\n")
    assert json.loads(line)["detail"] == hostile


def test_a_log_that_cannot_be_written_is_an_error_for_a_person(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").mkdir()
    with pytest.raises(RunDirectoryError, match="cannot be written"):
        EventLog(tmp_path / "events.jsonl")


def test_a_log_that_was_moved_away_is_an_error_ahead_of_what_would_be_lost(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    with EventLog(run / "events.jsonl") as log:
        log.emit(Warned("one"))
        run.rename(tmp_path / "elsewhere")
        with pytest.raises(RunDirectoryError, match="the directory was moved or removed"):
            log.emit(Warned("two"))
        (tmp_path / "elsewhere").rename(run)
        log.emit(Warned("three"))
    assert [row["message"] for row in lines(run / "events.jsonl")] == ["one", "three"]


def test_a_full_disk_is_one_error_and_closing_the_log_adds_none(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with EventLog(tmp_path / "events.jsonl") as log:
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
        try:
            with pytest.raises(RunDirectoryError, match="File too large") as caught:
                log.emit(Warned("one"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "Make room" in caught.value.hint
    assert (tmp_path / "events.jsonl").stat().st_size == 10


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_log_that_is_a_named_pipe_is_an_error_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "events.jsonl")
    with pytest.raises(RunDirectoryError, match=r"events\.jsonl cannot be written: it is no regular file"):
        EventLog(tmp_path / "events.jsonl")
