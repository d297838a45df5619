"""Stage 4: at most as many edits survive as the learning rate of the step allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.bench import OpenBench, text_of
from tests.support.values import append, patch, state

from skillopt.errors import FatalModelError, TransientModelError
from skillopt.rejections import Rejection, Rejections
from skillopt.step.select import by_support, select, valid_indices
from skillopt.types import EditState, Patch

SIX = patch(*(append(f"edit {number}", support=number) for number in range(6)))


def ranking(*indices: Any) -> dict[str, Any]:
    return {"reasoning": "these", "selected_indices": list(indices)}


async def chosen(open_bench: OpenBench, reply: Any, *, budget: int = 4, merged: Patch = SIX) -> list[int]:
    """The numbers of the edits that survive a reply."""
    selected = await select(open_bench(optimizer=lambda _: reply), state(budget=budget), merged)
    lost = [outcome.edit for outcome in selected.over_budget]
    assert {outcome.state for outcome in selected.over_budget} <= {EditState.OVER_BUDGET}
    assert sorted([*selected.edits, *lost], key=merged.edits.index) == list(merged.edits), "each edit ends once"
    return [merged.edits.index(edit) for edit in selected.edits]


@pytest.mark.parametrize("budget", [6, 7])
async def test_within_the_budget_nobody_is_asked(open_bench: OpenBench, budget: int) -> None:
    bench = open_bench()
    selected = await select(bench, state(budget=budget), SIX)
    assert (selected.edits, selected.over_budget) == (SIX.edits, ())
    assert bench.optimizer.requests == []


async def test_above_the_budget_the_ranking_is_obeyed_in_its_order(open_bench: OpenBench) -> None:
    """F67: six edits under a budget of four."""
    assert await chosen(open_bench, ranking(5, 0, 3, 1, 2)) == [5, 0, 3, 1]


async def test_fewer_than_the_budget_may_be_chosen_and_an_empty_choice_is_obeyed(open_bench: OpenBench) -> None:
    """More 9."""
    assert await chosen(open_bench, ranking(2)) == [2]
    assert await chosen(open_bench, ranking()) == []


async def test_a_budget_of_zero_applies_none_and_asks_nobody(open_bench: OpenBench) -> None:
    """More 9, F67."""
    bench = open_bench()
    selected = await select(bench, state(budget=0), SIX)
    assert (selected.edits, len(selected.over_budget)) == ((), 6)
    assert bench.optimizer.requests == []


@pytest.mark.parametrize(
    ("indices", "numbers"),
    [([True, 2], [2]), ([2, 2, 2, 3], [2, 3]), ([-1, 6, 99, 0], [0]), (["1", 1.5, None, [3], 4], [4])],
)
async def test_what_names_no_edit_is_left_out_of_the_ranking(
    open_bench: OpenBench, indices: list[Any], numbers: list[int]
) -> None:
    """More 9: `true` is not index 1; repeated and unknown numbers choose nothing."""
    assert await chosen(open_bench, ranking(*indices)) == numbers


@pytest.mark.parametrize(
    "reply",
    [
        ranking(True, 17),
        "The last four.",
        {"reasoning": "none"},
        {"selected_indices": None},
        TransientModelError("down"),
    ],
)
async def test_a_ranking_that_cannot_be_used_falls_back_to_support(open_bench: OpenBench, reply: Any) -> None:
    """F6, More 12."""
    bench = open_bench(optimizer=lambda _: reply)
    selected = await select(bench, state(budget=4), SIX)
    assert [edit.content for edit in selected.edits] == ["edit 5", "edit 4", "edit 3", "edit 2"]
    assert bench.counted["select_fallbacks"] == 1


async def test_a_provider_that_can_never_answer_ends_the_run(open_bench: OpenBench) -> None:
    with pytest.raises(FatalModelError, match="invalid key"):
        await chosen(open_bench, FatalModelError("invalid key", status=401))


async def test_an_edit_that_does_not_survive_says_why(open_bench: OpenBench) -> None:
    """F57, F67."""
    selected = await select(open_bench(optimizer=[ranking(0)]), state(budget=4), SIX)
    assert selected.over_budget[0].detail == "not among the 1 that were selected of 6; at most 4 a step"
    assert selected.reasoning == "these"


async def test_what_the_ranking_should_know_reaches_the_prompt(open_bench: OpenBench) -> None:
    """F54, F75, More 16, More 19."""
    bench = open_bench(optimizer=[ranking(0)], settings={"optimizer.learning_rate": 5})
    lost = Rejection(1, (append("Answer in French."),), "not strictly higher")
    await select(bench, replace(state(text="MARKER\n", budget=3), rejections=Rejections((lost,))), SIX)
    text = text_of(bench.optimizer.requests[0])
    assert "At most 3 of the proposed edits" in text
    for part in (bench.environment.purpose, "MARKER", "Answer in French.", '"number": 5'):
        assert text.count(part) == 1, part


def test_support_ranks_failures_first_then_support_then_order() -> None:
    """F70."""
    edits = [
        append("a", support=9, source="success"),
        append("b", support=1),
        append("c", support=2),
        append("d", support=2),
        append("e", source="success"),
    ]
    assert by_support(edits) == (2, 3, 1, 0, 4)


@settings(max_examples=50)
@given(st.lists(st.integers(-3, 8) | st.booleans() | st.text(max_size=2) | st.none()), st.integers(0, 6))
def test_valid_indices_are_numbers_of_edits_each_once(indices: list[Any], count: int) -> None:
    valid = valid_indices(indices, count)
    assert len(set(valid)) == len(valid)
    assert all(type(index) is int and 0 <= index < count for index in valid)
    assert list(valid) == [index for index in dict.fromkeys(i for i in indices if type(i) is int) if index in valid]
