"""Stage 3: edits that say the same are merged, failures ahead of successes."""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.bench import OpenBench, text_of
from tests.support.values import append, patch, replace_edit, state

from skillopt.errors import FatalModelError, RateLimitError, TransientModelError
from skillopt.events import StageProgress
from skillopt.models.base import ChatRequest
from skillopt.rejections import Rejection, Rejections
from skillopt.simulation.scripted import Said
from skillopt.step.aggregate import aggregate, failures_first
from skillopt.types import Edit, EditOperation, EditState, Patch

RULES = ("Sort by date.", "Name the unit.", "Use capitals.", "Leave out blanks.", "Round to cents.", "Quote the title.")
"""Contents that no rule takes for duplicates."""


def shown(request: ChatRequest) -> list[str]:
    """The contents of the edits that a merge prompt shows, in their order."""
    lines = request.messages[1].content.splitlines()
    return [found[1] for line in lines if (found := re.search(r'^\{"number".*"content": "([^"]*)"', line))]


def union(request: ChatRequest) -> dict[str, Any]:
    """A merge that keeps everything."""
    edits = [{"op": "append", "content": content, "sources": [number]} for number, content in enumerate(shown(request))]
    return {"reasoning": "all of them", "edits": edits}


def patches(count: int, *, failures: bool = True, first: int = 0) -> list[Patch]:
    """Patches of one edit each, which have nothing in common."""
    source = "failure" if failures else "success"
    return [
        patch(append(RULES[number], source=source, tasks=[number]), source=source, tasks=[number])
        for number in range(first, first + count)
    ]


def contents(merged: Patch) -> list[str]:
    return [edit.content for edit in merged.edits]


async def test_no_patches_are_a_patch_without_edits(open_bench: OpenBench) -> None:
    assert (await aggregate(open_bench(), state(), [])).edits == ()


@pytest.mark.parametrize("failures", [True, False])
async def test_one_patch_needs_no_call(open_bench: OpenBench, failures: bool) -> None:
    """F70: deterministic without a model."""
    bench = open_bench()
    (only,) = patches(1, failures=failures)
    assert await aggregate(bench, state(), [only]) == only
    assert bench.optimizer.requests == []


async def test_duplicates_are_merged_without_a_call(open_bench: OpenBench) -> None:
    bench = open_bench()
    both = [
        patch(append("Name the unit after every number of the answer.", tasks=[1]), tasks=[1]),
        patch(append("- Name the unit after each number of the answer", tasks=[2]), tasks=[2]),
    ]
    merged = await aggregate(bench, state(), both)
    assert merged.edits == (append("Name the unit after every number of the answer.", support=2, tasks=[1, 2]),)
    assert bench.optimizer.requests == []


async def test_what_failures_and_successes_both_ask_for_needs_no_call_and_is_a_failure_edit(
    open_bench: OpenBench,
) -> None:
    """F70."""
    bench = open_bench()
    sides = [*patches(1, failures=False), patch(append(RULES[0], tasks=[7]), tasks=[7])]
    merged = await aggregate(bench, state(), sides)
    assert merged.edits == (append(RULES[0], support=2, tasks=[7, 0]),)
    assert (merged.source_type, bench.optimizer.requests) == ("failure", [])


@pytest.mark.parametrize(("similarity", "left"), [(100.0, 2), (60.0, 1)])
async def test_how_alike_duplicates_are_is_a_setting(open_bench: OpenBench, similarity: float, left: int) -> None:
    bench = open_bench(settings={"optimizer.near_duplicate": similarity})
    merged = await aggregate(bench, state(), [patch(append("Name the unit."), append("Always name the unit."))])
    assert len(merged.edits) == left


@pytest.mark.parametrize(
    ("count", "size", "groups"),
    [
        (2, 2, [(1, 0, 2)]),
        (5, 8, [(1, 0, 5)]),
        (6, 3, [(1, 0, 3), (1, 1, 3), (2, 0, 6)]),
        (5, 2, [(1, 0, 2), (1, 1, 2), (2, 0, 4), (3, 0, 5)]),
    ],
)
async def test_patches_are_merged_in_levels_of_the_batch_size(
    open_bench: OpenBench, count: int, size: int, groups: list[tuple[int, int, int]]
) -> None:
    """F69: each level shrinks; a group of one passes through without a call."""
    bench = open_bench(optimizer=union, settings={"gradient.merge_batch_size": size})
    merged = await aggregate(bench, state(), patches(count))
    calls = sorted((request.place.index, len(shown(request))) for request in bench.optimizer.requests)
    assert calls == [(level * 10_000 + group, edits) for level, group, edits in groups]
    assert contents(merged) == list(RULES[:count])
    assert merged.merge_level == groups[-1][0]
    assert [event.done for event in bench.events if isinstance(event, StageProgress)] == list(range(1, len(groups) + 1))


async def test_failures_and_successes_are_merged_apart_and_then_failures_first(open_bench: OpenBench) -> None:
    """F70."""
    bench = open_bench(optimizer=union)
    merged = await aggregate(bench, state(), [*patches(2, failures=False, first=2), *patches(2)])
    assert sorted(shown(request) for request in bench.optimizer.requests[:2]) == sorted([[*RULES[:2]], [*RULES[2:4]]])
    assert shown(bench.optimizer.requests[2]) == list(RULES[:4])
    assert [edit.source_type for edit in merged.edits] == ["failure", "failure", "success", "success"]
    assert merged.merge_level == 2


async def test_both_sides_are_merged_side_by_side(open_bench: OpenBench) -> None:
    """An idle optimizer is a design fault: each side's call waits here for the other's."""
    both = asyncio.Barrier(2)

    async def script(request: ChatRequest) -> Said:
        if len(shown(request)) == 2:
            await both.wait()
        return union(request)

    bench = open_bench(optimizer=script)
    async with asyncio.timeout(10):
        await aggregate(bench, state(), [*patches(2), *patches(2, failures=False, first=2)])


@pytest.mark.parametrize("workers", [1, 2])
async def test_no_more_merges_run_at_once_than_there_are_analysts(open_bench: OpenBench, workers: int) -> None:
    running = most = 0

    async def script(request: ChatRequest) -> Said:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return union(request)

    settings = {"gradient.merge_batch_size": 2, "gradient.analyst_workers": workers}
    bench = open_bench(optimizer=script, settings=settings)
    await aggregate(bench, state(), [*patches(4), *patches(2, failures=False, first=4)])
    assert most == workers


async def test_the_merge_does_not_depend_on_who_finishes_first(open_bench: OpenBench) -> None:
    """More 14."""
    second_done = asyncio.Event()

    async def second_first(request: ChatRequest) -> Said:
        if request.place.index == 10_000:
            await second_done.wait()
        second_done.set()
        return union(request)

    settings = {"gradient.merge_batch_size": 2}
    forward, backward = (open_bench(optimizer=script, settings=settings) for script in (union, second_first))
    async with asyncio.timeout(10):
        merged = await aggregate(backward, state(), patches(4))
    assert merged == await aggregate(forward, state(), patches(4))


async def test_what_the_merge_should_know_reaches_the_prompt(open_bench: OpenBench) -> None:
    """F54, F75, More 19: purpose, skill, rejected edits, the edits with support and source."""
    bench = open_bench(optimizer=union)
    lost = Rejection(1, (append("Answer in French."),), "not strictly higher")
    now = replace(state(text="MARKER\n"), rejections=Rejections((lost,)))
    await aggregate(bench, now, [patch(append(RULES[0], support=3)), *patches(1, first=1)])
    text = text_of(bench.optimizer.requests[0])
    for part in (bench.environment.purpose, "MARKER", "Answer in French.", '"support_count": 3', RULES[1]):
        assert text.count(part) == 1, part


async def test_support_and_tasks_come_from_the_named_sources(open_bench: OpenBench) -> None:
    """More 11: a merged edit knows how many it stands for and which tasks they came from."""
    reply = {
        "edits": [
            {"op": "append", "content": "one and three", "sources": [0, 2, 2, 9, True, "1"]},
            {"op": "append", "content": "nothing named"},
        ]
    }
    bench = open_bench(optimizer=[reply])
    merged = await aggregate(
        bench, state(), [patch(append(RULES[0], support=4, tasks=[0]), tasks=[0]), *patches(2, first=1)]
    )
    first, second = merged.edits
    assert (first.support_count, first.task_ids, first.merge_level) == (5, ("t0", "t2"), 1)
    assert (second.support_count, second.task_ids) == (1, ("t0", "t1", "t2"))


def left_out(merged: Patch) -> list[tuple[str, str]]:
    """What a merge left out, as content and reason."""
    assert {entry.state for entry in merged.discarded} <= {EditState.DUPLICATE}
    return [(json.loads(entry.entry)["content"], entry.detail) for entry in merged.discarded]


async def test_what_a_merge_leaves_out_is_kept_with_the_reason(open_bench: OpenBench) -> None:
    """F57: nothing vanishes: of three edits two are named as sources, one by an entry that is no edit."""
    reply = {
        "edits": [
            {"op": "append", "content": "merged", "sources": [0]},
            {"op": "mend", "content": "no edit", "sources": [1]},
        ]
    }
    bench = open_bench(optimizer=[reply])
    merged = await aggregate(bench, state(), patches(3))
    invalid, *others = merged.discarded
    assert (invalid.state, contents(merged)) == (EditState.INVALID, ["merged"])
    assert left_out(replace(merged, discarded=tuple(others))) == [
        (RULES[1], "left out by the merge"),
        (RULES[2], "left out by the merge"),
    ]


async def test_an_edit_that_is_repeated_word_for_word_needs_no_sources_to_be_known(open_bench: OpenBench) -> None:
    reply = {"edits": [{"op": "append", "content": RULES[1]}, {"op": "append", "content": "new", "sources": [1]}]}
    bench = open_bench(optimizer=[reply])
    merged = await aggregate(
        bench, state(), [patch(append(RULES[1], support=3, tasks=[1])), *patches(1), *patches(1, first=2)]
    )
    assert [edit.support_count for edit in merged.edits] == [3, 1]
    assert left_out(merged) == [(RULES[2], "left out by the merge")]


async def test_where_no_sources_are_named_nothing_is_said_to_be_left_out(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=[{"edits": [{"op": "append", "content": "all in one"}]}])
    merged = await aggregate(bench, state(), patches(3))
    assert (contents(merged), merged.discarded) == (["all in one"], ())


async def test_the_support_of_a_source_counts_once_over_all_merged_edits(open_bench: OpenBench) -> None:
    """An analyst's proposal that was cut in two would otherwise outvote two others."""
    reply = {
        "edits": [
            {"op": "append", "content": "first half", "sources": [0]},
            {"op": "append", "content": "second half and more", "sources": [0, 1]},
            {"op": "append", "content": "the first once more", "sources": [0]},
        ]
    }
    bench = open_bench(optimizer=[reply])
    both = [patch(append(RULES[0], support=4, tasks=[0])), patch(append(RULES[1], support=2, tasks=[1]))]
    merged = await aggregate(bench, state(), both)
    assert [(edit.support_count, edit.task_ids) for edit in merged.edits] == [
        (4, ("t0",)),
        (2, ("t0", "t1")),
        (1, ("t0",)),
    ]


async def test_one_failure_among_the_sources_makes_a_failure_edit(open_bench: OpenBench) -> None:
    """F70."""
    reply = {
        "edits": [
            {"op": "append", "content": "from both", "sources": [0, 1]},
            {"op": "append", "content": "from the success", "sources": [1]},
        ]
    }
    bench = open_bench(optimizer=[reply])
    merged = await aggregate(bench, state(), [*patches(1), *patches(1, failures=False, first=1)])
    assert [edit.source_type for edit in merged.edits] == ["failure", "success"]


@pytest.mark.parametrize("error", [TransientModelError("HTTP 503"), RateLimitError("slow down")])
async def test_a_provider_that_fails_costs_nothing_that_went_in(open_bench: OpenBench, error: Exception) -> None:
    """F6: concatenated, and the fall-back and the error's type are counted."""
    bench = open_bench(optimizer=lambda _: error)
    merged = await aggregate(bench, state(), patches(3))
    assert contents(merged) == list(RULES[:3])
    assert bench.counted == {"merge_fallbacks": 1, f"provider_failed_{type(error).__name__}": 1}
    assert [event.outcome for event in bench.events if isinstance(event, StageProgress)] == ["dropped"]


async def test_a_replay_falls_back_at_the_same_place(open_bench: OpenBench, tmp_path: Path) -> None:
    """F6: the provider is well again, and still the run is the one that was played."""
    evidence = tmp_path / "evidence.sqlite"
    down = open_bench(optimizer=lambda _: TransientModelError("HTTP 503"), evidence=evidence)
    first = await aggregate(down, state(), patches(3))
    well = open_bench(optimizer=union, evidence=evidence)
    assert await aggregate(well, state(), patches(3)) == first
    assert well.optimizer.requests == []
    assert well.counted == down.counted


@pytest.mark.parametrize("sides", [(2, 0), (2, 2)])
async def test_a_provider_that_can_never_answer_ends_the_run_with_its_words(
    open_bench: OpenBench, sides: tuple[int, int]
) -> None:
    """F2, F6: one error, whichever side it came from, and no group of them."""
    bench = open_bench(optimizer=lambda _: FatalModelError("invalid key", status=401))
    failures, successes = sides
    with pytest.raises(FatalModelError, match="invalid key"):
        await aggregate(bench, state(), [*patches(failures), *patches(successes, failures=False, first=2)])


@pytest.mark.parametrize(
    "reply",
    [
        {"edits": []},
        {"edits": None, "reasoning": "Nothing."},
        {"edits": [], "drop_all_reason": "  "},
        {"edits": ["Sort by date.", {"op": "merge", "content": "x"}]},
        "Sort by date and name the unit.",
    ],
)
async def test_a_merge_that_brings_nothing_is_a_failed_merge(open_bench: OpenBench, reply: Any) -> None:
    """More 13: it does not wipe the patches that went in."""
    bench = open_bench(optimizer=lambda _: reply)
    merged = await aggregate(bench, state(), patches(3))
    assert contents(merged) == list(RULES[:3])
    assert bench.counted["merge_fallbacks"] == 1
    assert merged.reasoning == "why\nwhy\nwhy"


async def test_a_merge_that_says_why_nothing_is_worth_keeping_is_obeyed(open_bench: OpenBench) -> None:
    """More 13."""
    bench = open_bench(optimizer=[{"edits": [], "drop_all_reason": "The skill says all of it."}])
    merged = await aggregate(bench, state(), patches(3))
    assert (merged.edits, merged.reasoning) == ((), "The skill says all of it.")
    said = "left out by the merge, which kept nothing: The skill says all of it."
    assert left_out(merged) == [(content, said) for content in RULES[:3]]
    assert bench.counted == {}


async def test_after_a_side_was_dropped_the_other_needs_no_final_merge(open_bench: OpenBench) -> None:
    def script(request: ChatRequest) -> Said:
        return union(request) if RULES[0] in shown(request) else {"edits": [], "drop_all_reason": "known"}

    bench = open_bench(optimizer=script)
    merged = await aggregate(bench, state(), [*patches(2), *patches(2, failures=False, first=2)])
    assert contents(merged) == list(RULES[:2])
    assert len(bench.optimizer.requests) == 2
    assert (merged.source_type, merged.task_ids) == ("failure", ("t0", "t1", "t2", "t3"))


async def test_entries_that_are_no_edits_are_kept_as_invalid(open_bench: OpenBench) -> None:
    """F57, More 12: through all levels."""

    def script(request: ChatRequest) -> Said:
        reply = union(request)
        return reply | {"edits": [*reply["edits"], "be brief"]} if len(shown(request)) == 2 else reply

    bench = open_bench(optimizer=script, settings={"gradient.merge_batch_size": 2})
    merged = await aggregate(bench, state(), patches(4))
    assert contents(merged) == list(RULES[:4])
    assert [(one.entry, one.state) for one in merged.discarded] == [('"be brief"', EditState.INVALID)] * 2


async def test_failures_win_on_the_same_place_where_no_model_decides(open_bench: OpenBench) -> None:
    """F70: one failure and one success edit on one anchor."""
    anchor = "- Answer briefly."
    success = replace_edit(anchor, "- Answer at length.", source="success", tasks=[1])
    failure = replace_edit("-  Answer briefly. ", "- Answer in one word.", tasks=[0])
    bench = open_bench(optimizer=lambda _: TransientModelError("down"))
    merged = await aggregate(
        bench,
        state(),
        [patch(success, append(RULES[0], source="success"), source="success", tasks=[1]), patch(failure, tasks=[0])],
    )
    assert contents(merged) == ["- Answer in one word.", RULES[0]]
    assert [(one.state, "Answer at length" in one.entry) for one in merged.discarded] == [(EditState.DUPLICATE, True)]


EDITS = st.builds(
    Edit,
    st.sampled_from(EditOperation),
    target=st.sampled_from(["", "a", " a", "b"]),
    content=st.sampled_from(["x", "y"]),
    source_type=st.sampled_from(["failure", "success"]),
)


@settings(max_examples=50)
@given(st.lists(EDITS, max_size=6))
def test_putting_failures_first_loses_nothing_and_no_failure_gives_way(edits: list[Edit]) -> None:
    """F70."""
    kept, gave_way = failures_first(edits)
    assert len(kept) + len(gave_way) == len(edits)
    assert [edit for edit in kept if edit.source_type == "failure"] == [e for e in edits if e.source_type == "failure"]
    sources = [edit.source_type for edit in kept]
    assert sources == sorted(sources)
