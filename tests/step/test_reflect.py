"""Stage 2: minibatches of trajectories in, patches out."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.bench import OpenBench, appends, text_of
from tests.support.values import append, rollout, state, unmeasured

from skillopt.errors import FatalModelError, TransientModelError
from skillopt.events import StageProgress, StageStarted
from skillopt.models.base import ChatReply, ChatRequest
from skillopt.rejections import Rejection, Rejections
from skillopt.simulation.scripted import Said
from skillopt.step.reflect import reflect
from skillopt.types import EditState

MARKER = "XYZ-MARKER-OF-THE-CURRENT-SKILL"
FAILURES = [rollout(number) for number in range(5)]
SUCCESSES = [rollout(number, 1) for number in range(5, 8)]
NOTHING: dict[str, Any] = {"reasoning": "nothing to add", "edits": []}


def tasks_shown(request: ChatRequest) -> set[str]:
    """Ids of the tasks whose sections a prompt holds."""
    return {one.task.id for one in (*FAILURES, *SUCCESSES) if f". {one.task.id}\n" in text_of(request)}


async def test_failures_and_successes_are_read_in_minibatches_of_their_own(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=lambda _: NOTHING, settings={"gradient.minibatch_size": 2})
    await reflect(bench, state(), [*SUCCESSES, *FAILURES])
    shown = [tasks_shown(request) for request in bench.optimizer.requests]
    assert sorted(len(tasks) for tasks in shown) == [1, 1, 2, 2, 2]
    failed, solved = ({one.task.id for one in kind} for kind in (FAILURES, SUCCESSES))
    assert all(tasks <= failed or tasks <= solved for tasks in shown)
    assert set().union(*shown) == failed | solved
    assert [bool(tasks <= failed) for tasks in shown] == [True, True, True, False, False]
    assert bench.events[0] == StageStarted("reflect", 1, 1, 5)


async def test_the_ids_of_failing_tasks_are_in_the_prompt(open_bench: OpenBench) -> None:
    """F74."""
    bench = open_bench(optimizer=lambda _: NOTHING)
    await reflect(bench, state(), FAILURES[:4])
    assert tasks_shown(bench.optimizer.requests[0]) == {"t0", "t1", "t2", "t3"}


async def test_failure_only_leaves_the_successes_alone(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=lambda _: NOTHING, settings={"gradient.failure_only": True})
    await reflect(bench, state(), [*FAILURES, *SUCCESSES])
    assert [tasks_shown(request) for request in bench.optimizer.requests] == [{"t0", "t1", "t2", "t3", "t4"}]


async def test_what_could_not_be_measured_is_not_reflected_on(open_bench: OpenBench) -> None:
    """F14: a lost task is neither a failure nor a success."""
    bench = open_bench(optimizer=lambda _: NOTHING)
    await reflect(bench, state(), [unmeasured(0), rollout(1)])
    await reflect(bench, state(), [unmeasured(2)])
    assert [tasks_shown(request) for request in bench.optimizer.requests] == [{"t1"}]


@pytest.mark.parametrize("kind", [FAILURES[:1], SUCCESSES[:1]])
async def test_the_budget_shown_is_the_scheduled_one(open_bench: OpenBench, kind: Any) -> None:
    """More 16: not the maximum."""
    bench = open_bench(optimizer=lambda _: NOTHING, settings={"optimizer.learning_rate": 8})
    await reflect(bench, state(budget=3), kind)
    text = text_of(bench.optimizer.requests[0])
    assert "at most 3 edits" in text
    assert "at most 8 edits" not in text


async def test_a_budget_of_zero_asks_nothing(open_bench: OpenBench) -> None:
    """More 9: nothing could be applied."""
    bench = open_bench()
    assert await reflect(bench, state(budget=0), FAILURES) == ()
    assert bench.optimizer.requests == []


@pytest.mark.parametrize("kind", [FAILURES[:2], SUCCESSES[:2]])
async def test_the_current_skill_is_in_the_prompt_exactly_once(open_bench: OpenBench, kind: Any) -> None:
    """F54, F77, More 19."""
    bench = open_bench(optimizer=lambda _: NOTHING)
    await reflect(bench, state(text=f"# Skill\n\n{MARKER}\n"), kind)
    text = text_of(bench.optimizer.requests[0])
    assert text.count(MARKER) == 1
    assert text.index("<skill>") < text.index(MARKER) < text.index("</skill>")


async def test_an_empty_skill_is_named_as_empty(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=lambda _: NOTHING)
    await reflect(bench, state(text=""), FAILURES[:1])
    assert "<skill>\n(the skill is still empty)\n</skill>" in text_of(bench.optimizer.requests[0])


@pytest.mark.parametrize("kind", [FAILURES[:1], SUCCESSES[:1]])
async def test_each_further_input_reaches_the_prompt(open_bench: OpenBench, kind: Any) -> None:
    """F75, F134, More 19: purpose, rejected edits with the gate's reason, and the tasks' feedback."""
    bench = open_bench(optimizer=lambda _: NOTHING)
    lost = Rejection(1, (append("Answer in French."),), "not strictly higher: hard 25.0% against 50.0%")
    await reflect(bench, replace(state(), rejections=Rejections((lost,))), kind)
    text = text_of(bench.optimizer.requests[0])
    assert bench.environment.purpose
    for part in (bench.environment.purpose, "Answer in French.", lost.reason, kind[0].score.feedback):
        assert text.count(part) == 1, part


async def test_a_long_trajectory_keeps_its_verdict_and_its_end(open_bench: OpenBench) -> None:
    """More 19."""
    long = rollout(0, said="BEGIN " + "word " * 5000 + "END", feedback="Expected a0 and got nothing of the kind.")
    bench = open_bench(optimizer=lambda _: NOTHING, settings={"gradient.trajectory_tokens": 64})
    await reflect(bench, state(), [long])
    text = text_of(bench.optimizer.requests[0])
    assert all(part in text for part in ("BEGIN", "END", "characters left out", "Verdict: failed", long.score.feedback))  # type: ignore[union-attr]
    assert text.count("word ") < 100


async def test_no_more_reflections_run_at_once_than_there_are_analysts(open_bench: OpenBench) -> None:
    running = most = 0

    async def script(_: ChatRequest) -> Said:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return NOTHING

    settings = {"gradient.minibatch_size": 1, "gradient.analyst_workers": 3}
    bench = open_bench(optimizer=script, settings=settings)
    await reflect(bench, state(), [*FAILURES, *SUCCESSES])
    assert most == 3


async def test_patches_come_in_a_fixed_order_whoever_finishes_first(open_bench: OpenBench) -> None:
    """More 14."""
    total = 4
    done = [asyncio.Event() for _ in range(total + 1)]
    done[total].set()

    async def last_first(request: ChatRequest) -> Said:
        await done[request.place.index + 1].wait()
        done[request.place.index].set()
        return appends(f"edit {request.place.index}")

    settings = {"gradient.minibatch_size": 2}
    forward = open_bench(optimizer=lambda request: appends(f"edit {request.place.index}"), settings=settings)
    backward = open_bench(optimizer=last_first, settings=settings)
    rollouts = [*FAILURES[:4], *SUCCESSES]
    async with asyncio.timeout(10):
        patches = await reflect(backward, state(), rollouts)
    assert patches == await reflect(forward, state(), rollouts)
    assert [patch.edits[0].content for patch in patches] == ["edit 0", "edit 1", "edit 2", "edit 3"]
    assert [patch.source_type for patch in patches] == ["failure", "failure", "success", "success"]


async def test_minibatches_are_drawn_from_the_seed_and_the_step(open_bench: OpenBench) -> None:
    async def batches(seed: int, step: int) -> list[set[str]]:
        settings = {"gradient.minibatch_size": 2, "train.seed": seed}
        bench = open_bench(optimizer=lambda _: NOTHING, settings=settings)
        await reflect(bench, state(step=step), FAILURES)
        return [tasks_shown(request) for request in bench.optimizer.requests]

    assert await batches(1, 1) == await batches(1, 1)
    assert len({str([sorted(tasks) for tasks in await batches(*place)]) for place in ((1, 1), (2, 1), (1, 2))}) == 3


async def test_an_edit_knows_the_tasks_it_came_from(open_bench: OpenBench) -> None:
    """More 11."""
    bench = open_bench(optimizer=lambda _: appends("x"), settings={"gradient.failure_only": True})
    (patch,) = await reflect(bench, state(), [*FAILURES, *SUCCESSES])
    assert set(patch.edits[0].task_ids) == set(patch.task_ids) == {"t0", "t1", "t2", "t3", "t4"}
    assert patch.edits[0].source_type == "failure"


async def test_more_edits_than_the_budget_are_kept_as_over_budget(open_bench: OpenBench) -> None:
    """F67: enforced by code, not asked for in the prompt."""
    bench = open_bench(optimizer=lambda _: appends(*"abcdef"))
    (patch,) = await reflect(bench, state(budget=4), FAILURES)
    assert [edit.content for edit in patch.edits] == ["a", "b", "c", "d"]
    assert [(json.loads(one.entry)["content"], one.state) for one in patch.discarded] == [
        ("e", EditState.OVER_BUDGET),
        ("f", EditState.OVER_BUDGET),
    ]


async def test_a_malformed_entry_is_kept_with_its_reason_and_costs_nothing_else(open_bench: OpenBench) -> None:
    """More 12, F57."""
    entries = [
        {"op": "append", "content": "good"},
        {"op": "rewrite", "content": "x"},
        {"op": "append", "content": 7},
        "be brief",
        None,
        {"op": " INSERT_AFTER ", "target": "# Skill", "content": "also good"},
    ]
    bench = open_bench(optimizer=lambda _: {"edits": entries, "patterns": "of no use", "reasoning": None})
    (patch,) = await reflect(bench, state(), FAILURES)
    assert [edit.content for edit in patch.edits] == ["good", "also good"]
    assert {one.state for one in patch.discarded} == {EditState.INVALID}
    assert [one.detail for one in patch.discarded] == [
        "op is 'rewrite'; it must be one of append, insert_after, insert_before, replace, delete",
        "content is no text",
        "not an object with op, target and content",
        "not an object with op, target and content",
    ]


@pytest.mark.parametrize(
    "reply",
    [
        {"patch": {"edits": [{"op": "append", "content": "x"}]}, "batch_size": "8 trajectories"},
        {"edits": {"op": "append", "content": "x"}},
        {"op": "append", "content": "x"},
        '[{"op": "append", "content": "x"}]',
        'Here it is:\n```JSON\n{"edits":[{"op":"append","content":"x"},]}\n```',
        '<think>{"edits": []}</think>{"edits": [{"op": "append", "content": "x"}]}',
    ],
)  # fmt: skip
async def test_a_clear_reply_is_read_in_any_wrapping(open_bench: OpenBench, reply: Any) -> None:
    """F45, F48, More 12."""
    bench = open_bench(optimizer=[reply])
    (patch,) = await reflect(bench, state(), FAILURES)
    assert [edit.content for edit in patch.edits] == ["x"]


@pytest.mark.parametrize("reply", [NOTHING, {"edits": None}])
async def test_a_reply_without_edits_is_no_patch(open_bench: OpenBench, reply: Any) -> None:
    bench = open_bench(optimizer=[reply])
    assert await reflect(bench, state(), FAILURES) == ()
    assert bench.counted == {}


@pytest.mark.parametrize(
    "reply",
    ["I would add a rule.", ChatReply('{"edits": [{"op": "app', finish_reason="length"), ChatReply("<think>I will")],
)
async def test_a_reply_that_cannot_be_read_is_asked_once_more_then_dropped_and_counted(
    open_bench: OpenBench, reply: Any
) -> None:
    """F49, F53: nothing is made of it, and nothing vanishes."""
    bench = open_bench(optimizer=lambda _: reply)
    assert await reflect(bench, state(), FAILURES) == ()
    assert bench.counted == {"replies_asked_again": 1, "replies_dropped": 1, "dropped_reflections": 1}
    assert [request.place.attempt for request in bench.optimizer.requests] == [0, 1]
    assert [event.outcome for event in bench.events if isinstance(event, StageProgress)] == ["dropped"]


async def test_a_second_reply_that_can_be_read_is_counted_as_asked_again(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=["no JSON", appends("x")])
    (patch,) = await reflect(bench, state(), FAILURES)
    assert (patch.edits[0].content, bench.counted) == ("x", {"replies_asked_again": 1})


@pytest.mark.parametrize("error", [TransientModelError("down"), FatalModelError("invalid key", status=401)])
async def test_a_provider_that_fails_ends_the_run(open_bench: OpenBench, error: Exception) -> None:
    """F10: a step without its reflections would look like a step without ideas."""
    bench = open_bench(optimizer=lambda _: error, settings={"gradient.minibatch_size": 1})
    with pytest.raises(type(error), match=str(error)):
        await reflect(bench, state(), FAILURES)


def cites(content: str, *task_ids: Any) -> dict[str, Any]:
    return {"op": "append", "content": content, "task_ids": list(task_ids)}


async def test_where_edits_are_vetted_each_has_the_tasks_that_its_analyst_cited(open_bench: OpenBench) -> None:
    """More 11. An id that was not shown is dropped and counted; an edit that cites none is for the whole minibatch."""
    reply = {"edits": [cites("a", "t2"), cites("b", "t9", "t1"), cites("c"), "no edit", cites("d", "t7", "t8")]}
    bench = open_bench(optimizer=lambda _: reply, settings={"evaluation.vet": 1, "optimizer.learning_rate": 9})
    (patch,) = await reflect(bench, state(budget=9), FAILURES[:3])
    shown = patch.task_ids
    assert [edit.task_ids for edit in patch.edits] == [("t2",), ("t1",), shown, shown]
    assert sorted(shown) == ["t0", "t1", "t2"]
    assert (bench.counted["unknown_task_ids"], len(patch.discarded)) == (3, 1)


async def test_where_they_are_not_vetted_citations_are_no_part_of_the_form(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=lambda _: {"edits": [cites("a", "t2", "t9")]})
    (patch,) = await reflect(bench, state(), FAILURES[:3])
    assert (patch.edits[0].task_ids, bench.counted["unknown_task_ids"]) == (patch.task_ids, 0)
    (request,) = bench.optimizer.requests
    assert "task_ids" not in text_of(request) + json.dumps(request.schema and dict(request.schema.schema))
