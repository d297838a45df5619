"""The edit budget of a step where the schedule does not have the last word."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError
from tests.support.bench import OpenBench, text_of
from tests.support.values import append, patch, rollout, state, unmeasured

from skillopt.errors import FatalModelError, TransientModelError
from skillopt.events import StageStarted
from skillopt.rejections import Rejection, Rejections
from skillopt.results import LearningRateDecision
from skillopt.step.budget import BudgetReply, set_budget
from skillopt.types import Patch

SIX = patch(*(append(f"edit {number}") for number in range(6)))
AUTONOMOUS = {"optimizer.lr_control_mode": "autonomous", "optimizer.learning_rate": 4}
ROLLOUTS = [rollout(0, 1), rollout(1, 0, 0.5), unmeasured(2)]


def named(number: Any) -> dict[str, Any]:
    return {"reasoning": "so much fails", "learning_rate": number}


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer.lr_control_mode": "autonomous"},
        {"optimizer.lr_scheduler": "autonomous"},
        {"optimizer.lr_control_mode": "autonomous", "optimizer.lr_scheduler": "autonomous"},
    ],
)
async def test_the_optimizer_names_the_budget_with_its_reasons(open_bench: OpenBench, settings: dict[str, Any]) -> None:
    bench = open_bench(optimizer=[named(5)], settings=settings)
    after, decision = await set_budget(bench, state(budget=3), SIX, ROLLOUTS)
    assert decision == LearningRateDecision(5, proposed=5, scheduled=3, available=6, reasoning="so much fails")
    assert after.budget == 5
    assert bench.optimizer.requests[0].place.stage == "budget"
    assert bench.events == [StageStarted("budget", 1, 1)]


async def test_what_it_decides_from_reaches_its_prompt(open_bench: OpenBench) -> None:
    """F54, F75: skill, edits, scores, what was lost, memory, and the most it can name."""
    bench = open_bench(optimizer=[named(1)], settings=AUTONOMOUS)
    lost = Rejections((Rejection(1, (append("Answer in French."),), "lost"),))
    before = replace(state(text="MARKER\n", budget=3), rejections=lost, memory="MEMORY")
    await set_budget(bench, before, SIX, ROLLOUTS)
    text = text_of(bench.optimizer.requests[0])
    said = ("MARKER", "Answer in French.", "MEMORY", '"number": 5', "at most 6:", bench.environment.purpose)
    for part in (*said, "1 of 2 solved; mean partial credit 0.75"):
        assert text.count(part) == 1, part


@pytest.mark.parametrize(
    ("edits", "number", "budget"), [(6, 99, 6), (6, 0, 0), (40, 10**30, 16), (40, 16, 16), (6, "3", 3), (6, 3.0, 3)]
)
async def test_the_number_holds_up_to_the_edits_there_are_and_four_times_the_rate(
    open_bench: OpenBench, edits: int, number: Any, budget: int
) -> None:
    bench = open_bench(optimizer=[named(number)], settings=AUTONOMOUS)
    merged = patch(*(append(f"edit {n}") for n in range(edits)))
    after, decision = await set_budget(bench, state(), merged, ROLLOUTS)
    assert decision is not None
    assert (after.budget, decision.budget, decision.proposed) == (budget, budget, int(number))


@pytest.mark.parametrize(
    "answer", ["as many as you like", named(-1), named(True), named(None), named(2.5), TransientModelError("down")]
)
async def test_a_reply_that_cannot_be_used_leaves_the_scheduled_budget(open_bench: OpenBench, answer: Any) -> None:
    """F6, More 9: `true` is not 1."""
    bench = open_bench(optimizer=lambda _: answer, settings=AUTONOMOUS)
    after, decision = await set_budget(bench, state(budget=3), SIX, ROLLOUTS)
    assert decision == LearningRateDecision(3, proposed=None, scheduled=3, available=6)
    assert after.budget == 3
    assert bench.counted["budget_fallbacks"] == 1


async def test_a_provider_that_can_never_answer_ends_the_run(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=[FatalModelError("invalid key", status=401)], settings=AUTONOMOUS)
    with pytest.raises(FatalModelError, match="invalid key"):
        await set_budget(bench, state(), SIX, ROLLOUTS)


@pytest.mark.parametrize(
    ("mode", "merged", "scheduled", "budget"),
    [
        ("fixed", SIX, 4, 4),
        ("none", SIX, 4, 6),
        ("none", SIX, 0, 0),
        ("autonomous", patch(), 4, 4),
        ("autonomous", SIX, 0, 0),
    ],
)
async def test_otherwise_nobody_is_asked(
    open_bench: OpenBench, mode: str, merged: Patch, scheduled: int, budget: int
) -> None:
    bench = open_bench(settings={"optimizer.lr_control_mode": mode})
    after, decision = await set_budget(bench, state(budget=scheduled), merged, ROLLOUTS)
    assert (after.budget, decision, bench.optimizer.requests) == (budget, None, [])


async def test_a_batch_that_could_not_be_measured_is_named_as_such(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=[named(1)], settings=AUTONOMOUS)
    await set_budget(bench, state(), SIX, [unmeasured(0)])
    assert "no task could be measured" in text_of(bench.optimizer.requests[0])


def test_a_number_has_to_be_there() -> None:
    with pytest.raises(ValidationError):
        BudgetReply.model_validate({"reasoning": "x"})
