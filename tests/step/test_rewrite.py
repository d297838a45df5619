"""Whole rewrites in place of edits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError
from tests.support.bench import Bench, OpenBench, text_of
from tests.support.values import append, rollout, state

from skillopt.errors import FatalModelError, TransientModelError
from skillopt.models.bounded_texts import with_bounded_texts
from skillopt.rejections import Rejection, Rejections
from skillopt.results import Selected
from skillopt.step.reflect import reflect
from skillopt.step.rewrite import RewriteReply
from skillopt.step.update import update
from skillopt.types import EditState, Patch, Rewrite

SUGGESTIONS = {"optimizer.skill_update_mode": "rewrite_from_suggestions"}
WHOLE = {"optimizer.skill_update_mode": "full_rewrite_minibatch"}
SELECTED = Selected((append("- New.", tasks=[1]), append("- Newer.", source="success", tasks=[2, 1])))
LOST = Rejections((Rejection(1, (Rewrite("x", ("put all in French",)),), "lost"),))


def reply(text: str, *changes: Any) -> dict[str, Any]:
    return {"reasoning": "why", "change_summary": list(changes), "new_skill": text}


async def test_the_selected_edits_are_suggestions_and_the_reply_is_the_candidate(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=[reply("# Skill\n\n- All in one.\n", "joined two rules")], settings=SUGGESTIONS)
    candidate = await update(bench, state(), SELECTED)
    assert (candidate.skill.text, candidate.changed) == ("# Skill\n\n- All in one.\n", True)
    assert [outcome.state for outcome in candidate.outcomes] == [EditState.SUGGESTED] * 2
    assert (candidate.applied, candidate.changes) == ((), (candidate.rewrite,))
    assert candidate.rewrite == Rewrite(
        candidate.skill.text, ("joined two rules",), "why", source_type="failure", task_ids=("t1", "t2")
    )


async def test_what_the_rewrite_should_know_reaches_its_prompt_once(open_bench: OpenBench) -> None:
    """F54, F75: skill, suggestions, what was lost, memory, limit."""
    bench = open_bench(optimizer=lambda _: reply("x"), settings={**SUGGESTIONS, "skill.max_tokens": 777})
    before = replace(state(text="MARKER\n"), rejections=LOST, memory="MEMORY")
    await update(bench, before, SELECTED)
    (request,) = bench.optimizer.requests
    assert (request.place.stage, request.schema) == ("update", RewriteReply.reply_schema())
    for part in ("MARKER", "put all in French", "MEMORY", "- Newer.", "777 tokens", bench.environment.purpose):
        assert text_of(request).count(part) == 1, part


async def test_without_suggestions_nobody_is_asked(open_bench: OpenBench) -> None:
    bench = open_bench(settings=SUGGESTIONS)
    candidate = await update(bench, state(), Selected())
    assert (candidate.changed, candidate.rewrites, bench.optimizer.requests) == (False, (), [])


@pytest.mark.parametrize("answer", ["no JSON", {"reasoning": "none"}, {"new_skill": 7}, TransientModelError("down")])
async def test_without_a_usable_reply_the_current_skill_stays(open_bench: OpenBench, answer: Any) -> None:
    """F51, F53."""
    bench = open_bench(optimizer=lambda _: answer, settings=SUGGESTIONS)
    candidate = await update(bench, state(), SELECTED)
    assert (candidate.skill, candidate.changed, candidate.rewrite) == (state().current.skill, False, None)
    assert [outcome.state for outcome in candidate.rewrites] == [EditState.INVALID]
    assert bench.counted["dropped_rewrites"] == 1


async def test_a_provider_that_can_never_answer_ends_the_run(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=lambda _: FatalModelError("invalid key", status=401), settings=SUGGESTIONS)
    with pytest.raises(FatalModelError, match="invalid key"):
        await update(bench, state(), SELECTED)


async def reflected(bench: Bench) -> tuple[Patch, ...]:
    before = replace(state(text="MARKER\n"), rejections=LOST, memory="MEMORY")
    return await reflect(bench, before, [rollout(0), rollout(1), rollout(2, 1)])


async def test_every_reflection_writes_a_whole_skill(open_bench: OpenBench) -> None:
    bench = open_bench(
        optimizer=lambda request: reply(f"# {request.place.index}", "said"),
        settings={**WHOLE, "gradient.minibatch_size": 1},
    )
    patches = await reflected(bench)
    rewrites = [rewrite for patch in patches for rewrite in patch.rewrites]
    assert [(one.text, one.source_type, one.change_summary) for one in rewrites] == [
        ("# 0", "failure", ("said",)),
        ("# 1", "failure", ("said",)),
        ("# 2", "success", ("said",)),
    ]
    assert [patch.edits for patch in patches] == [()] * 3
    asked = sorted(bench.optimizer.requests, key=lambda request: request.place.index)
    for request, one in zip(asked, rewrites, strict=True):
        assert request.place.stage == "reflect"
        for part in ("MARKER", "put all in French", "MEMORY", one.task_ids[0], bench.environment.purpose):
            assert text_of(request).count(part) == 1, part


@pytest.mark.parametrize(("answer", "dropped"), [(reply(""), 0), (reply(" \n"), 0), ("no JSON", 3)])
async def test_a_reflection_without_a_text_is_no_patch(open_bench: OpenBench, answer: Any, dropped: int) -> None:
    bench = open_bench(optimizer=lambda _: answer, settings={**WHOLE, "gradient.minibatch_size": 1})
    assert await reflected(bench) == ()
    assert bench.counted["dropped_reflections"] == dropped


async def test_the_first_rewrite_that_can_be_used_is_taken_and_the_others_say_why_not(open_bench: OpenBench) -> None:
    texts = ("# Skill\0", "# Skill\n", "# First", "# Second")
    rewrites = tuple(Rewrite(text, (text,)) for text in texts)
    candidate = await update(open_bench(settings=WHOLE), state(), Selected(rewrites=rewrites))
    assert (candidate.skill.text, candidate.changed) == ("# First\n", True)
    ends = [EditState.INVALID, EditState.DUPLICATE, EditState.APPLIED, EditState.OVER_BUDGET]
    assert [outcome.state for outcome in candidate.rewrites] == ends
    assert candidate.rewrites[3].detail == "rewrite 3 of 4 was taken; a step takes one"
    assert candidate.rewrite == Rewrite("# First\n", ("# First",))


async def test_where_no_rewrite_can_be_used_nothing_is_taken(open_bench: OpenBench) -> None:
    for rewrites in ((), (Rewrite("# Skill\0"),)):
        candidate = await update(open_bench(settings=WHOLE), state(), Selected(rewrites=rewrites))
        assert (candidate.changed, candidate.rewrite, len(candidate.rewrites)) == (False, None, len(rewrites))


@pytest.mark.parametrize(
    ("value", "text", "changes"),
    [
        (reply("# A", "one", 7, None, "  two\nlines "), "# A", ("one", "two lines")),
        (reply("# A", "half \ud800", "nul \0", "one"), "# A", ("one",)),
        ({"new_skill": "# A", "change_summary": "one"}, "# A", ("one",)),
        ({"new_skill": "# A", "change_summary": None}, "# A", ()),
        ({"new_skill": None}, "", ()),
        ({"patch": {"skill_candidates": [reply(""), reply("# B", "b")]}}, "# B", ("b",)),
        ({"skill_candidates": [7, reply("# C")]}, "# C", ()),
        ({"skill_candidates": None}, "", ()),
    ],
)
def test_a_clear_reply_is_read_in_any_wrapping(value: Any, text: str, changes: tuple[str, ...]) -> None:
    """More 12: the public wrappers too; the first candidate that has a text."""
    read = RewriteReply.model_validate(value)
    assert (read.new_skill, read.changes) == (text, changes)


def test_a_reply_without_a_skill_is_no_rewrite() -> None:
    for value in ({}, [], {"skill": "# A"}, {"new_skill": ["# A"]}):
        with pytest.raises(ValidationError):
            RewriteReply.model_validate(value)


def test_the_summary_is_bounded() -> None:
    """It stands in later prompts."""
    changes = RewriteReply.model_validate(reply("# A", *(["x" * 999] * 99))).changes
    assert (len(changes), len(changes[0])) == (20, 300)


def test_no_grammar_cuts_a_whole_skill() -> None:
    properties = with_bounded_texts(RewriteReply.reply_schema().schema)["properties"]
    assert isinstance(properties, dict)
    assert properties["new_skill"] == {"type": "string"}
