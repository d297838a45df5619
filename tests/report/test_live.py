"""The reducer over the event log."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.support.records import committed, edit, record, spent, started
from tests.support.runs import SMALL, read_json, write_run

from skillopt.api import train
from skillopt.events import (
    EpochStageCommitted,
    Event,
    RunEnded,
    StageProgress,
    StageStarted,
    StepCommitted,
    Warned,
)
from skillopt.report.course import course
from skillopt.report.event_reading import read_events
from skillopt.report.live import KEPT_EDITS, KEPT_WARNINGS, follow, follow_all
from skillopt.report.live_state import NOTHING, LiveRun


def after(*events: Event, known: LiveRun = NOTHING, at: float = 100.0) -> LiveRun:
    return follow_all(known, [(event, at + second) for second, event in enumerate(events)])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A training of two epochs with a slow update, which was started twice."""
    import asyncio

    config = write_run(tmp_path_factory.mktemp("live"), SMALL, settings={"limits.calls": 5000})
    asyncio.run(train(config))
    return asyncio.run(train(config)).directory


def test_a_best_skill_that_was_chosen_after_the_last_step_is_the_best_one() -> None:
    chosen = {"best_gate_score": 0.9, "best_gate_solved": 27, "best_gate_n": 30, "best_step": 10}
    end = RunEnded("improved", "", {**chosen, "best_origin": "slow_update_epoch_02"})
    standing = after(started(), committed(0), committed(1), end).standing
    assert standing is not None
    assert (standing.best, standing.best_solved, standing.best_n) == (0.9, 27, 30)
    assert (standing.best_step, standing.best_origin) == (10, "slow_update_epoch_02")
    assert after(started(), end).standing is None
    before = after(started(), committed(0), committed(1))
    assert after(RunEnded("improved", "", chosen), known=before).standing == before.standing


def test_what_is_known_of_a_finished_run_is_what_its_files_say(run: Path) -> None:
    known = after_log(run / "events.jsonl")
    records, summary = read_json(run / "history.json"), read_json(run / "summary.json")
    assert known.points == course(records, name="run").points
    assert known.ended is not None and known.ended.summary == summary
    last, standing = records[-1], known.standing
    assert standing is not None
    assert (standing.current, standing.best, standing.best_step, standing.current_n, standing.best_n) == tuple(
        last[name] for name in ("current_score", "best_score", "best_step", "val_n", "best_n")
    )
    seed = known.baseline
    assert seed is not None
    assert (seed.current, seed.current_solved) == (records[0]["current_score"], records[0]["val_solved"])
    report = {
        number: read_json(run / "steps" / f"step_{number:04d}" / "edit_apply_report.json")
        for number in range(1, len(records))
    }
    assert [(line.step, line.operation, line.status) for line in known.edits] == [
        (number, row["op"], row["status"]) for number, rows in report.items() for row in rows
    ]
    for line in known.edits:
        gated = {"accept": "accepted", "accept_new_best": "accepted", "reject": "rejected"}
        wanted = gated[records[line.step]["action"]] if line.status == "applied" else "not applied"
        assert line.verdict == wanted
    assert known.spent is not None and sum(known.spent.paid_calls.values()) == 0
    (limit,) = known.limits(0)
    calls = sum(usage["calls"] for usage in summary["total_usage"].values())
    assert (limit.key, limit.used, limit.most) == ("limits.calls", calls, 5000)


def after_log(path: Path) -> LiveRun:
    return follow_all(NOTHING, ((one.event, one.at) for one in read_events(path).events))


def test_a_start_forgets_what_was_known(run: Path) -> None:
    """Two starts in one log, or the second alone, are the same run."""
    lines = (run / "events.jsonl").read_text("utf-8").splitlines(keepends=True)
    second = [number for number, line in enumerate(lines) if json.loads(line)["event"] == "RunStarted"][1]
    other = run.parent / "second.jsonl"
    other.write_text("".join(lines[second:]), "utf-8")
    assert after_log(run / "events.jsonl") == after_log(other)


def test_every_stage_counts_what_it_did_and_what_the_evidence_answered() -> None:
    known = after(
        started(),
        StageStarted("rollout", 1, 1, 4),
        StageProgress("rollout", 1, 1, 1, 4, outcome="solved", recorded=True),
        StageProgress("rollout", 1, 1, 2, 4, outcome="failed"),
        StageProgress("rollout", 1, 1, 3, 4, outcome="failed"),
    )
    stage = known.at_work
    assert stage is not None
    assert (stage.name, stage.done, stage.total, stage.outcomes, stage.recorded) == (
        "rollout", 3, 4, {"solved": 1, "failed": 2}, 1,
    )  # fmt: skip
    assert stage.rate(105.0) == pytest.approx(2 / 4)
    assert [name for name, begun in known.shown_stages if begun is not None] == ["rollout"]


def test_the_next_stage_ends_the_one_before_and_a_commit_ends_all() -> None:
    known = after(started(), StageStarted("rollout", 1, 1, 4), StageStarted("reflect", 1, 1, 2))
    assert [(stage.name, stage.over) for stage in known.stages] == [("rollout", True), ("reflect", False)]
    late = StageProgress("rollout", 1, 1, 4, 4)
    known = after(late, known=known)
    assert known.stages[0].done == 4 and known.stages[0].over
    known = after(committed(1), known=known)
    assert known.at_work is None and known.settled
    known = after(StageStarted("slow_update", 1, 1, 4), known=known)
    assert [stage.name for stage in known.stages] == ["slow_update"]


def test_another_draw_begins_again_at_reflection() -> None:
    draw = [StageStarted(name, 1, 1) for name in ("reflect", "aggregate", "vet", "gate")]
    known = after(started(), StageStarted("rollout", 1, 1, 4), *draw, draw[0])
    assert [stage.name for stage in known.stages] == ["rollout", "reflect"]
    assert [stage.name for stage in after(*draw[1:], known=known).stages] == [
        "rollout", "reflect", "aggregate", "vet", "gate",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("action", "verdict"),
    [
        ("accept", "accepted"), ("accept_new_best", "accepted"), ("force_accept", "accepted"),
        ("reject", "rejected"), ("deferred", "waiting"), ("skip_unmeasured", "not judged"),
    ],
)  # fmt: skip
def test_an_edit_that_was_applied_has_the_gates_verdict(action: str, verdict: str) -> None:
    known = after(started(), committed(1, edit("a"), edit("b", "unmatched"), action=action))
    assert [(line.text, line.status, line.verdict) for line in known.edits] == [
        ("a", "applied", verdict),
        ("b", "unmatched", "not applied"),
    ]


def test_edits_that_waited_for_the_gate_get_its_verdict_with_those_of_the_step_that_went_there() -> None:
    known = after(
        started(),
        committed(1, edit("old"), action="reject"),
        committed(2, edit("a"), edit("b", "duplicate"), action="deferred"),
        committed(3, edit("c"), action="accept", gated_steps=[2, 3]),
    )
    assert [line.verdict for line in known.edits] == ["rejected", "accepted", "not applied", "accepted"]


def test_a_stage_between_epochs_takes_the_place_of_its_steps_point() -> None:
    slow = EpochStageCommitted("slow_update", 1, record(1, current_score=0.5, val_solved=4))
    known = after(started(), committed(0), committed(1), slow)
    assert [point.current for point in known.points] == [0.375, 0.5]
    assert known.standing is not None and known.standing.current_solved == 4


def test_the_time_left_comes_from_the_steps_that_were_paid() -> None:
    """Neither the baseline nor steps that the evidence answers say anything of those that are still to be paid."""
    known = follow_all(NOTHING, [(started(total_steps=6), 0), (spent(9, 5), 5), (committed(0), 5)])
    known = follow_all(known, [(committed(1), 5.01), (committed(2), 5.02)])
    assert known.seconds_left(6) is None
    known = follow_all(known, [(spent(20, 11), 30), (committed(3), 35.02)])
    assert known.seconds_left(35.02) == pytest.approx(90)
    assert known.seconds_left(45.02) == pytest.approx(80)
    assert known.seconds_left(1e9) == pytest.approx(60), "a step that takes longer takes nothing from the others"
    known = follow_all(known, [(spent(30, 21), 40), (committed(4), 55.02)])
    assert known.seconds_left(55.02) == pytest.approx(50)
    assert follow(known, committed(6), at=56).seconds_left(56) is None
    assert follow(known, RunEnded("limit_reached", "", {}), at=56).seconds_left(56) is None


def test_warnings_and_edits_are_kept_as_far_as_a_page_can_show_them() -> None:
    known = after(started(), *[Warned(str(number)) for number in range(70)])
    assert (known.warned, len(known.warnings), known.warnings[-1]) == (70, KEPT_WARNINGS, "69")
    edits = [edit(str(number)) for number in range(KEPT_EDITS + 5)]
    assert [line.text for line in after(committed(1, *edits)).edits][-1] == str(KEPT_EDITS + 4)
    assert len(after(committed(1, *edits)).edits) == KEPT_EDITS


EVENTS = some.one_of(
    some.builds(StageStarted, some.sampled_from(["rollout", "gate", "vet"]), some.just(1), some.integers(0, 3)),
    some.builds(
        StageProgress, some.sampled_from(["rollout", "gate", "test"]), some.just(1), some.integers(0, 3),
        some.integers(0, 9), some.integers(0, 9), recorded=some.booleans(),
    ),
    some.builds(spent, some.integers(0, 9), some.integers(0, 9), dollars=some.none() | some.just(1.0)),
    some.builds(committed, some.integers(0, 12), action=some.sampled_from(["accept", "deferred"])),
    some.builds(EpochStageCommitted, some.just("slow_update"), some.just(1), some.builds(record, some.integers(0, 9))),
    some.builds(Warned, some.text(max_size=3)),
    some.builds(RunEnded, some.just("improved"), some.just(""), some.just({})),
)  # fmt: skip


@given(events=some.lists(EVENTS, max_size=30), before=some.lists(EVENTS, max_size=10), clock=some.floats(-1e6, 1e6))
def test_no_order_of_events_stops_it_and_a_start_forgets_all(
    events: list[Event], before: list[Event], clock: float
) -> None:
    known = after(started(), *events)
    assert after(started(), *events, known=after(*before, at=clock)) == known
    left = known.seconds_left(clock)
    assert left is None or left >= 0
    assert sum(not stage.over for stage in known.stages) <= 1


def test_a_record_that_is_none_is_a_fault_of_who_sent_it() -> None:
    broken: Any = {"step": 1}
    with pytest.raises(KeyError):
        after(StepCommitted(broken))
