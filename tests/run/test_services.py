"""What the stages may ask of a run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.support.bench import OpenBench, appends, rule

from skillopt.errors import FatalModelError, TransientModelError
from skillopt.events import Spent, StageProgress, StageStarted
from skillopt.models.base import ChatReply
from skillopt.step.replies import EditsReply
from skillopt.types import Message, Place

ASKED = (Message("user", "What should change?"),)
REFLECT, MERGE = Place("reflect", 1, 1), Place("aggregate", 1, 1)


async def test_a_structured_answer_is_read_and_what_it_took_is_counted(open_bench: OpenBench) -> None:
    """F45, F53: mended, asked again, dropped: each is counted."""
    mended = '{"reasoning": "r", "edits": [{"op": "append", "content": "a"},]}'
    bench = open_bench(optimizer=[mended, "no JSON at all", appends("b"), "nothing", ChatReply("", "length")])
    first = await bench.ask(ASKED, REFLECT, EditsReply)
    second = await bench.ask(ASKED, Place("reflect", 1, 1, 1), EditsReply)
    third = await bench.ask(ASKED, Place("reflect", 1, 1, 2), EditsReply)
    assert [answer.value is not None for answer in (first, second, third)] == [True, True, False]
    assert bench.counted == {"replies_repaired": 1, "replies_asked_again": 2, "replies_dropped": 1}


async def test_a_provider_that_fails_for_now_ends_a_stage_that_needs_its_reply(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=[TransientModelError("busy")])
    with pytest.raises(TransientModelError, match="busy"):
        await bench.ask(ASKED, REFLECT, EditsReply)


async def test_a_stage_that_can_go_on_falls_back_and_a_replay_falls_back_at_the_same_place(
    open_bench: OpenBench, tmp_path: Path
) -> None:
    """F6: the wanted fall-back on provider errors, with type, stage and count in the record."""
    evidence = tmp_path / "evidence.sqlite"
    bench = open_bench(optimizer=[TransientModelError("busy"), appends("a")], evidence=evidence)
    answer = await bench.ask(ASKED, MERGE, EditsReply, may_fall_back=True)
    assert (answer.value, answer.dropped) == (None, "busy")
    assert bench.counted == {"provider_failed_TransientModelError": 1}
    assert (await bench.ask(ASKED, Place("aggregate", 1, 2), EditsReply, may_fall_back=True)).value is not None
    again = open_bench(optimizer=(), evidence=evidence)
    assert await again.ask(ASKED, MERGE, EditsReply, may_fall_back=True) == answer
    assert again.counted == bench.counted


async def test_a_provider_that_can_never_answer_ends_every_stage(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=[FatalModelError("no such model", status=404)])
    with pytest.raises(FatalModelError):
        await bench.ask(ASKED, MERGE, EditsReply, may_fall_back=True)


def test_random_choices_are_told_apart_by_name_and_place_and_by_nothing_else(open_bench: OpenBench) -> None:
    one, two = open_bench(), open_bench(settings={"train.seed": 43})
    draws = {(name, place): one.random(name, *place).random() for name in ("a", "b") for place in ((1, 1), (1, 2))}
    assert len(set(draws.values())) == 4
    assert one.random("a", 1, 1).random() == draws["a", (1, 1)]
    assert two.random("a", 1, 1).random() != draws["a", (1, 1)]


async def test_every_rollout_is_told_with_what_came_of_it(open_bench: OpenBench) -> None:
    bench = open_bench(skill=rule(4))
    bench.emit(StageStarted("baseline", 0, 0, 4))
    await bench.measure(bench.seed_skill, bench.selection, Place("baseline"))
    told = [event for event in bench.events if isinstance(event, StageProgress)]
    assert sorted((event.detail, event.outcome) for event in told) == [
        ("t4", "solved"), ("t5", "failed"), ("t6", "failed"), ("t7", "failed"),
    ]  # fmt: skip
    assert [(event.done, event.total, event.recorded) for event in told] == [(n, 4, False) for n in range(1, 5)]
    log = (bench.directory / "events.jsonl").read_text("utf-8").splitlines()
    spent = [row for row in map(json.loads, log) if row["event"] == Spent.__name__]
    assert [row["used_calls"]["target"] for row in spent] == [1, 2, 3, 4]
