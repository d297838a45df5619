"""The optimizer's memory between epochs, in real runs over scripted models."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import Bench, OpenBench, appends, by_stage, rule, text_of
from tests.support.runs import read_json

from skillopt.epoch.meta_skill import MOST_TOKENS
from skillopt.errors import TransientModelError
from skillopt.events import EpochStageCommitted, StageStarted
from skillopt.models.base import ChatRequest
from skillopt.simulation.scripted import Said
from skillopt.skill.size import estimate_tokens
from skillopt.trainer import train

MARK = "MEMORY-XYZ: rules help, advice does not."
NO_EDITS = {"reasoning": "nothing", "edits": []}


def remember(content: str | None) -> dict[str, Any]:
    """The optimizer's reply with a memory."""
    return {"reasoning": "looked back", "meta_skill_content": content}


def requests(bench: Bench, stage: str, epoch: int | None = None) -> list[str]:
    return [
        text_of(one)
        for one in bench.optimizer.requests
        if one.place.stage == stage and epoch in (None, one.place.epoch)
    ]


def found(bench: Bench, epoch: int) -> dict[str, Any]:
    """What history.json says of the meta skill of an epoch."""
    return [record for record in bench.history if record["epoch"] == epoch][-1]["meta_skill"]


def every_stage(request: ChatRequest) -> Said:
    """Edits that differ enough to be merged and ranked, one of which has to be repaired."""
    text = text_of(request)
    number = next(number for number in range(4) if f"q{number}" in text)
    return {
        "reasoning": "",
        "edits": [
            {"op": "append", "content": f"Useless thought number {number}0 about epoch {request.place.epoch}."},
            {"op": "replace", "target": f"absent {number}", "content": f"another {number} {request.place.epoch}"},
        ],
    }


def merging(request: ChatRequest) -> Said:
    lines = [json.loads(line) for line in text_of(request).splitlines() if line.startswith('{"number"')]
    return {"reasoning": "", "edits": [{key: one[key] for key in ("op", "target", "content")} for one in lines]}


async def test_the_next_epochs_calls_read_the_memory_and_the_target_never_does(open_bench: OpenBench) -> None:
    """F75, and the check that no memory text ships: not in a skill, not in a target's prompt, not in a candidate."""
    script = by_stage(
        reflect=every_stage,
        aggregate=merging,
        select={"selected_indices": [1, 0]},
        update=NO_EDITS,
        meta_skill=remember(f"\n{MARK}\n"),
    )
    settings = {
        "train.num_epochs": 4,
        "gradient.minibatch_size": 2,
        "optimizer.learning_rate": 2,
        "optimizer.near_duplicate": 100,
    }
    bench = open_bench(optimizer=script, settings=settings)
    await train(bench)
    for stage in ("reflect", "aggregate", "select", "update"):
        for epoch in (1, 2):
            assert requests(bench, stage, epoch), (stage, epoch)
            assert not any(MARK in text for text in requests(bench, stage, epoch)), (stage, epoch)
        for epoch in (3, 4):
            assert requests(bench, stage, epoch), (stage, epoch)
            assert all(text.count(MARK) == 1 for text in requests(bench, stage, epoch)), (stage, epoch)
    assert not any(MARK in text_of(request) for request in bench.target.requests)
    skills = list(bench.directory.rglob("*skill*.md"))
    assert len(skills) > 5
    assert not any(MARK in path.read_text("utf-8") for path in skills)
    assert [found(bench, epoch)["action"] for epoch in (2, 3, 4)] == ["updated"] * 3
    assert "meta_skill" not in bench.history[1]


async def test_the_optimizer_is_shown_what_was_accepted_and_what_was_rejected_with_scores(
    open_bench: OpenBench,
) -> None:
    proposals = {1: rule(4), 2: "Be brief."}
    script = by_stage(
        reflect=lambda request: appends(proposals[request.place.epoch]),
        slow_update={"slow_update_content": "No guidance in sight of the memory."},
        meta_skill=remember(MARK),
    )
    bench = open_bench(optimizer=script, settings={"train.num_epochs": 2})
    await train(bench)
    (text,) = requests(bench, "meta_skill")
    accepted, rejected = text.partition("Edits that were accepted")[2].split("Edits that were rejected")
    assert '- append "q4 = a4" (step 1): strictly higher: hard 1/4' in accepted
    assert '- append "Be brief." (tried in step 2)' in rejected
    assert f"<earlier_skill>\n{rule(4)}\n</earlier_skill>" not in text
    assert "(the same as the skill as it stands)" in text
    assert "## Failed with both (4)" in text
    assert not any(f"t{number}" in text for number in range(4, 10))


async def test_the_memory_is_kept_on_file_and_told(open_bench: OpenBench) -> None:
    bench = open_bench(
        optimizer=by_stage(reflect=NO_EDITS, meta_skill=remember(MARK)), settings={"train.num_epochs": 2}
    )
    await train(bench)
    record = found(bench, 2)
    file = read_json(bench.directory / "meta_skill" / "epoch_02" / "meta_skill_result.json")
    assert (file["reasoning"], file["meta_skill_content"], file["memory"]) == ("looked back", MARK, MARK)
    assert file["action"] == record["action"] == "updated"
    assert MARK not in json.dumps(record)
    assert record["memory_tokens"] == estimate_tokens(MARK)
    assert record["pairs"]["persistent_fail"] == 4
    assert record["usage"]["optimizer.meta_skill"]["calls"] == 1
    (told,) = (one for one in bench.events if isinstance(one, EpochStageCommitted) and one.stage == "meta_skill")
    assert told.record == bench.history[-1]


@pytest.mark.parametrize(
    ("said", "counted"),
    [
        (remember(""), {"memory_empty": 1}),
        (remember(None), {"memory_empty": 1}),
        (remember("a\0b"), {"memory_refused": 1}),
        ("no JSON", {"replies_asked_again": 1, "replies_dropped": 1}),
        (TransientModelError("busy"), {"provider_failed_TransientModelError": 1}),
    ],
    ids=lambda value: repr(value)[:40],
)
async def test_a_call_that_gives_nothing_keeps_the_last_good_memory(
    open_bench: OpenBench, said: Said, counted: dict[str, int]
) -> None:
    """More 10."""
    script = by_stage(reflect=NO_EDITS, meta_skill=lambda request: remember(MARK) if request.place.epoch == 2 else said)
    bench = open_bench(optimizer=script, settings={"train.num_epochs": 4})
    await train(bench)
    assert (found(bench, 3)["action"], found(bench, 3)["counters"]) == ("kept", counted)
    assert found(bench, 3)["memory_digest"] == found(bench, 2)["memory_digest"]
    assert all(MARK in text for epoch in (3, 4) for text in requests(bench, "reflect", epoch))


async def test_a_long_memory_is_cut_and_the_cut_is_counted(open_bench: OpenBench) -> None:
    script = by_stage(reflect=NO_EDITS, meta_skill=remember("remember " * 3000))
    bench = open_bench(optimizer=script, settings={"train.num_epochs": 3})
    await train(bench)
    record = found(bench, 2)
    assert record["counters"] == {"memory_cut": 1}
    assert MOST_TOKENS * 0.9 < record["memory_tokens"] <= MOST_TOKENS
    (text,) = requests(bench, "reflect", 3)
    assert 100 < text.count("remember") <= MOST_TOKENS


@pytest.mark.parametrize("slow_update", [True, False])
async def test_the_comparison_of_the_slow_update_is_shared_and_without_one_it_is_made(
    open_bench: OpenBench, slow_update: bool
) -> None:
    script = by_stage(
        reflect=appends("Be brief."), slow_update={"slow_update_content": rule(4)}, meta_skill=remember(MARK)
    )
    settings = {"train.num_epochs": 2, "optimizer.use_slow_update": slow_update, "evaluation.use_gate": False}
    bench = open_bench(optimizer=script, settings=settings)
    await train(bench)
    (text,) = requests(bench, "meta_skill")
    assert "## Failed with both (4)" in text
    # The new guidance is no part of what the epoch's steps did.
    assert rule(4) not in text
    own = [one for one in bench.events if isinstance(one, StageStarted) and one.stage == "meta_skill"]
    directory = bench.directory / "meta_skill" / "epoch_02"
    assert (directory / "comparison_pairs.json").exists() is not slow_update
    assert bool(own) is not slow_update
    assert found(bench, 2)["pairs"]["persistent_fail"] == 4


async def test_without_it_nothing_is_remembered(open_bench: OpenBench) -> None:
    settings = {"train.num_epochs": 3, "optimizer.use_meta_skill": False}
    bench = open_bench(optimizer=by_stage(reflect=NO_EDITS, meta_skill=remember(MARK)), settings=settings)
    await train(bench)
    assert requests(bench, "meta_skill") == []
    assert not any(MARK in text_of(request) for request in bench.optimizer.requests)
    assert "meta_skill" not in bench.history[-1]
    assert not (bench.directory / "meta_skill").exists()


async def test_another_start_reads_the_same_memory(open_bench: OpenBench, tmp_path: Path) -> None:
    evidence = tmp_path / "evidence.sqlite"
    settings = {"train.num_epochs": 3}
    script = by_stage(reflect=NO_EDITS, meta_skill=remember(MARK))
    bench = open_bench(optimizer=script, settings=settings, evidence=evidence)
    await train(bench)
    history = bench.history
    again = open_bench(optimizer=(), target=(), settings=settings, evidence=evidence)
    await train(again)
    assert again.history == history
    assert (again.optimizer.requests, again.target.requests) == ([], [])
