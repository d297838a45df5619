"""Reading a run's event log while it grows, whatever became of the file."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some
from tests.support.records import committed, record, spent, started
from tests.support.runs import write_run

from skillopt.api import train
from skillopt.errors import RunDirectoryError
from skillopt.events import (
    EpochStageCommitted,
    Event,
    RunEnded,
    RunStarted,
    StageProgress,
    StageStarted,
    StepCommitted,
    Warned,
)
from skillopt.report.event_reading import END_BYTES, START, Position, Reading, is_at_work, read_events
from skillopt.report.live import follow_all
from skillopt.report.live_state import NOTHING, LiveRun
from skillopt.run.event_log import FORMAT_VERSION, EventLog, event_json


def line(message: str, /, **changed: Any) -> bytes:
    row = json.loads(event_json(Warned(message), sequence=0))
    return json.dumps({**row, **changed}).encode() + b"\n"


def messages(path: Path, position: Position = START) -> list[str]:
    return [one.event.message for one in read_events(path, position).events if isinstance(one.event, Warned)]


async def test_what_is_read_is_what_the_run_told_its_subscribers(tmp_path: Path) -> None:
    told: list[Event] = []
    await train(write_run(tmp_path), subscribers=[told.append])
    reading = read_events(tmp_path / "run" / "events.jsonl")
    in_json = [json.loads(event_json(event, sequence=0)) for event in told]
    assert len(reading.events) == len(told)
    for found, row in zip(reading.events, in_json, strict=True):
        again = json.loads(event_json(found.event, sequence=0))
        assert {**again, "time": ""} == {**row, "time": ""}
    assert (reading.unreadable, reading.unknown, reading.anew, reading.more) == (0, 0, False, False)
    clock = [one.at for one in reading.events]
    assert clock == sorted(clock) and clock[0] > 1.7e9


def test_only_what_was_appended_since_is_read(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    position = START
    with EventLog(path) as log:
        for number in range(3):
            log.emit(Warned(str(number)))
            reading = read_events(path, position)
            assert [one.event for one in reading.events] == [Warned(str(number))]
            position = reading.position
    assert read_events(path, position).events == ()


def test_a_line_that_is_still_being_written_is_left_for_later(tmp_path: Path) -> None:
    """F16"""
    path = tmp_path / "events.jsonl"
    whole = line("one")
    path.write_bytes(whole + line("two")[:30])
    reading = read_events(path)
    assert (len(reading.events), reading.unreadable, reading.position.offset) == (1, 0, len(whole))
    path.write_bytes(whole + line("two"))
    assert messages(path, reading.position) == ["two"]


def test_a_line_that_a_kill_cut_short_is_counted_and_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(line("one") + b'{"event": "StepCommitted", "rec')
    position = read_events(path).position
    with EventLog(path) as log:
        log.emit(Warned("again"))
    reading = read_events(path, position)
    assert ([one.event for one in reading.events], reading.unreadable) == ([Warned("again")], 1)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\n", b"\x00\xff\xfe\n", b"{}\n", b"[1]\n", b"null\n", b"1e999\n", b"9" * 5000 + b"\n", b"[" * 100_000 + b"\n",
        line("x", message=7), line("x", time="yesterday"), line("x", version="1"), line("x", event=["Warned"]),
        line("x", event="StepCommitted", record={"step": 1}), line("x", event="StepCommitted", record=[]),
        line("x", event="StageStarted", stage="gate", epoch=True, step=1), line("x", event="StageStarted"),
        line("x", event="RunStarted"),
    ],
)  # fmt: skip
def test_a_line_that_is_no_event_stops_nothing(tmp_path: Path, garbage: bytes) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(line("one") + garbage + line("two"))
    reading = read_events(path)
    assert messages(path) == ["one", "two"]
    assert reading.unreadable == (0 if garbage == b"\n" else 1)


@pytest.mark.parametrize(
    "event",
    [
        committed(0, current_score=10**400),
        committed(1, best_score=float("nan")),
        committed(1, best_solved="7"),
        committed(1, skill_tokens=[]),
        StageStarted("rollout", 1, 1, total=10**400),
        spent(1, 1, dollars=float("inf")),
    ],
)
def test_a_number_that_nobody_can_reckon_with_is_no_event(tmp_path: Path, event: Event) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(line("one") + event_json(event, sequence=1).encode() + b"\n" + line("two"))
    assert (messages(path), read_events(path).unreadable) == (["one", "two"], 1)


@pytest.mark.parametrize("changed", [{"event": "Dreamt"}, {"version": FORMAT_VERSION + 1}])
def test_what_a_later_version_logs_is_counted_apart(tmp_path: Path, changed: dict[str, Any]) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(line("x", **changed) + line("two"))
    reading = read_events(path)
    assert (messages(path), reading.unknown, reading.unreadable) == (["two"], 1, 0)


def test_fields_that_were_added_later_are_passed_over_and_those_that_came_later_have_a_default(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    start = json.loads(event_json(RunStarted("r", 1, 1, {}, {}, simulated=False), sequence=0))
    del start["limits"]
    path.write_bytes(json.dumps(start).encode() + b"\n" + line("one", mood="good"))
    assert [one.event for one in read_events(path).events] == [
        RunStarted("r", 1, 1, {}, {}, simulated=False),
        Warned("one"),
    ]


def test_text_that_is_no_unicode_is_still_an_event(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.jsonl") as log:
        log.emit(StageProgress("rollout", 1, 1, 1, 1, detail="\ud800\x1b\x00"))
    (found,) = read_events(tmp_path / "events.jsonl").events
    assert isinstance(found.event, StageProgress) and found.event.detail == "\ud800\x1b\x00"


@pytest.mark.parametrize("other", [line("new"), line("new") * 9, b""])
def test_a_file_that_was_cut_or_replaced_is_read_from_its_beginning(tmp_path: Path, other: bytes) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(line("one") + line("two"))
    position = read_events(path).position
    path.write_bytes(other)
    reading = read_events(path, position)
    assert reading.anew
    assert [one.event for one in reading.events] == [Warned("new")] * other.count(b"\n")


def test_a_file_that_is_not_there_has_no_events_and_is_followed_once_it_is(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    assert read_events(path).events == () and not read_events(path).anew
    path.write_bytes(line("one"))
    position = read_events(path).position
    path.unlink()
    gone = read_events(path, position)
    assert gone.anew and gone.position == START


def test_a_log_that_cannot_be_read_is_an_error_for_a_person(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="cannot be read"):
        read_events(tmp_path)


def test_a_line_longer_than_a_reading_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(b"x" * 3000 + b"\n" + line("one"))
    position, found, bad, more = START, list[Event](), 0, True
    while more:
        reading = read_events(path, position, most=1000)
        position, more = reading.position, reading.more
        found += [one.event for one in reading.events]
        bad += reading.unreadable
    assert found == [Warned("one")] and bad >= 1


@given(cuts=some.lists(some.integers(0, 2000), max_size=8), most=some.integers(200, 3000))
def test_however_the_log_comes_in_the_events_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], most: int
) -> None:
    path = tmp_path_factory.mktemp("log") / "events.jsonl"
    whole = b"".join(line(f"{number} \N{SNOWMAN}") for number in range(12))
    found, position = list[Event](), START
    for end in [*sorted(min(cut, len(whole)) for cut in cuts), len(whole)]:
        path.write_bytes(whole[:end])
        more = True
        while more:
            reading = read_events(path, position, most=most)
            position, more = reading.position, reading.more
            found += [one.event for one in reading.events]
            assert not (reading.anew or reading.unreadable)
    assert found == [Warned(f"{number} \N{SNOWMAN}") for number in range(12)]


def test_a_record_of_a_real_run_is_readable_as_one(tmp_path: Path) -> None:
    """A reader need not doubt that a committed step is a record, so one that is not is counted here."""
    path = tmp_path / "events.jsonl"
    with EventLog(path) as log:
        log.emit(StepCommitted({"step": 1}))
    assert read_events(path).unreadable == 1


EVENTS: some.SearchStrategy[Event] = some.one_of(
    some.just(started()),
    some.builds(StageStarted, some.sampled_from(["rollout", "reflect", "gate"]), some.just(1), some.integers(1, 2)),
    some.builds(
        StageProgress, some.sampled_from(["rollout", "reflect", "gate"]), some.just(1), some.integers(1, 2),
        done=some.integers(1, 3), total=some.just(3), outcome=some.sampled_from(["solved", "failed"]),
    ),
    some.builds(spent, some.integers(0, 9), some.integers(0, 9)),
    some.builds(committed, some.integers(0, 2)),
    some.builds(EpochStageCommitted, some.just("slow_update"), some.just(1), some.just(record(1))),
    some.builds(Warned, some.text(max_size=3)),
    some.just(RunEnded("improved", "", {})),
)  # fmt: skip


@settings(max_examples=400)
@given(some.lists(EVENTS, min_size=4, max_size=20))
def test_what_is_left_out_by_skimming_changes_nothing_that_is_known(events: list[Event]) -> None:
    """However the events stand: the same is known at the end as by reading all of them."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "events.jsonl"
        with EventLog(path) as log:
            for event in events:
                log.emit(event)
        everything, skimmed = read_events(path), read_events(path, skim="what counts")
    assert skimmed.position == everything.position

    def known(reading: Reading) -> LiveRun:
        return follow_all(NOTHING, ((one.event, one.at) for one in reading.events))

    assert known(skimmed) == known(everything)


async def test_most_of_a_long_log_is_left_out(tmp_path: Path) -> None:
    await train(write_run(tmp_path))
    path = tmp_path / "run" / "events.jsonl"
    assert len(read_events(path, skim="what counts").events) < len(read_events(path).events) / 2


BEGUN, OVER = (
    event_json(event, sequence=0).encode() + b"\n"
    for event in (started(), RunEnded("improved", "RunStarted", {"seed": "RunEnded"}))
)


@pytest.mark.parametrize(
    ("log", "at_work"),
    [
        (b"", False),
        (BEGUN, True),
        (BEGUN + line("a warning that names RunEnded"), True),
        (BEGUN + line('"RunEnded"', event="RunEnded"), True),
        (BEGUN + OVER, False),
        (BEGUN + OVER + line("after it"), False),
        (BEGUN + OVER + BEGUN, True),
        (BEGUN + OVER + BEGUN[:-20], False),
        (BEGUN + OVER[:-20], True),
        (b"no log at all", False),
        (line("x" * END_BYTES)[-END_BYTES:], True),
    ],
)
def test_a_run_is_at_work_from_its_last_start_to_its_end(log: bytes, at_work: bool) -> None:
    assert is_at_work(log) == at_work
