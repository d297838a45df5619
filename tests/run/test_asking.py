"""The optimizer as the stages ask it: a replay uses what was paid, and no reply that gave trouble vanishes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import OpenBench, appends, by_stage, rule
from tests.support.runs import read_json, views

from skillopt.errors import TransientModelError
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.results import ReplyTrouble
from skillopt.simulation.scripted import Said
from skillopt.step.replies import EditsReply
from skillopt.trainer import train
from skillopt.types import Message, Place

ASKED = (Message("user", "What should change?"),)
SETTINGS = {"train.num_epochs": 1, "gradient.minibatch_size": 2, "optimizer.learning_rate": 2}
LOST = {"op": "replace", "target": "nowhere", "content": "x"}


def proposal(request: ChatRequest) -> dict[str, Any]:
    """Edits that differ from one minibatch to the next, more than the budget allows."""
    number = request.place.index
    return {
        "reasoning": "",
        "edits": [LOST | {"content": f"x{number}"}, *appends(rule(number), rule(number + 4))["edits"]],
    }


EVERY_STAGE = by_stage(
    reflect=proposal,
    aggregate={"reasoning": "", "edits": [LOST, *appends(rule(4), rule(5))["edits"]]},
    select={"reasoning": "", "selected_indices": [0, 1]},
    update={"reasoning": "", "edits": [LOST]},
)
"""A step in which each stage has something to ask."""


@pytest.mark.parametrize("attempt", [0, 1])
@pytest.mark.parametrize("stage", ["aggregate", "select", "update"])
async def test_a_replay_uses_and_counts_what_the_first_play_did(
    open_bench: OpenBench, tmp_path: Path, stage: str, attempt: int
) -> None:
    """F6: a reply that was paid, of no use, and followed by an outage is a part of the run."""

    def script(request: ChatRequest) -> Said:
        if request.place.stage != stage:
            return EVERY_STAGE(request)
        return "no JSON at all" if request.place.attempt < attempt else TransientModelError("busy")

    evidence = tmp_path / "evidence.sqlite"
    first = open_bench(optimizer=script, settings=SETTINGS, evidence=evidence)
    await train(first)
    shown = views(first.directory)
    again = open_bench(optimizer=(), target=(), settings=SETTINGS, evidence=evidence)
    await train(again)
    assert views(again.directory) == shown
    assert again.counted == first.counted
    (record,) = first.history[1:]
    assert record["counters"]["provider_failed_TransientModelError"] == 1
    assert record["counters"].get("replies_asked_again", 0) == attempt
    assert record["usage"].get(f"optimizer.{stage}", {"calls": 0})["calls"] == attempt
    (dropped,) = record["dropped_replies"]
    assert dropped == {"stage": stage, "index": dropped["index"], "reason": "busy"}


async def test_every_reply_that_gave_trouble_is_on_record_with_its_place(open_bench: OpenBench) -> None:
    """F45, F53: what was dropped can be read, and what was mended or asked again is named."""

    def script(request: ChatRequest) -> Said:
        place = request.place
        match place.index, place.attempt:
            case 0, 0:
                return '{"reasoning": "r", "edits": [{"op": "append", "content": "a"},]}'
            case 1, 0:
                return "no JSON"
            case 1, 1:
                return appends("b")
            case 2, _:
                return "\x1b[2J never any JSON " + 1000 * "x"
            case _:
                return ChatReply("", "length")

    settings = {**SETTINGS, "gradient.minibatch_size": 1, "optimizer.learning_rate": 9}
    bench = open_bench(optimizer=lambda request: script(request) if request.place.stage == "reflect" else
                       {"edits": [], "drop_all_reason": "known"}, settings=settings)  # fmt: skip
    await train(bench)
    (record,) = bench.history[1:]
    assert [(row["stage"], row["index"]) for row in record["dropped_replies"]] == [("reflect", 2), ("reflect", 3)]
    assert record["mended_replies"] == [
        {"stage": "reflect", "index": 0, "repaired": True, "asked_again": False},
        {"stage": "reflect", "index": 1, "repaired": False, "asked_again": True},
    ]
    assert record["counters"]["replies_dropped"] == record["counters"]["dropped_reflections"] == 2
    file = bench.directory / "steps" / "step_0001" / "dropped_replies.json"
    babble, cut = read_json(file)
    assert babble["reply"].startswith("\x1b[2J never any JSON xxx") and len(babble["reply"]) == 500
    assert (cut["asked_again"], cut["reply"]) == (True, "")
    assert "cut at its token limit" in cut["reason"]
    assert "\x1b" not in file.read_text("utf-8")


async def test_the_troubles_of_a_step_are_its_own_and_in_the_order_of_their_places(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=lambda _: "nothing")
    asker: Any = bench
    for index in (2, 0, 1):
        await bench.ask(ASKED, Place("reflect", 1, 1, index), EditsReply)
    troubles: tuple[ReplyTrouble, ...] = asker._asker.take_troubles()
    assert [trouble.place.index for trouble in troubles] == [0, 1, 2]
    assert {(trouble.asked_again, trouble.excerpt) for trouble in troubles} == {(True, "nothing")}
    assert asker._asker.take_troubles() == ()


async def test_a_failure_is_remembered_for_the_question_that_failed_and_for_no_other(
    open_bench: OpenBench, tmp_path: Path
) -> None:
    """More epochs may ask another question at the same place of a run that is there."""
    place, evidence = Place("reflect", 1, 1), tmp_path / "evidence.sqlite"
    failing = open_bench(optimizer=[TransientModelError("busy")], evidence=evidence)
    assert (await failing.ask(ASKED, place, EditsReply, may_fall_back=True)).dropped == "busy"
    later = open_bench(optimizer=[appends("An edit.")], evidence=evidence)
    assert (await later.ask(ASKED, place, EditsReply, may_fall_back=True)).dropped == "busy"
    other = (Message("user", "And what now?"),)
    answer = await later.ask(other, place, EditsReply, may_fall_back=True)
    assert answer.value is not None
