"""After the last step: which skill is the best, and what it scores, by fresh measurement."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.bench import Bench, OpenBench, look_up, rule
from tests.support.values import measured

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.errors import MeasurementError, TransientModelError
from skillopt.events import StageStarted, Warned
from skillopt.models.base import ChatRequest
from skillopt.run.outcome import reported
from skillopt.simulation.scripted import Said
from skillopt.skill.document import Skill
from skillopt.state import Measured, State
from skillopt.step.final import best_of, choose_and_measure, finalists
from skillopt.step.passes import measure_passes
from skillopt.types import Place

HARD = EvaluationSettings()


def ended(seed: Measured, best: Measured, *tried: Measured) -> State:
    return State(seed=seed, current=best, best=best, epoch=1, step=9, tried=tried)


def again(skill: Measured, passes: int) -> Measured:
    """The same skill with the same scores, from a later pass."""
    return replace(skill, rollouts=tuple(replace(one, repeat=passes - 1) for one in skill.rollouts))


def test_the_finalists_are_the_best_by_the_gate_and_then_the_highest_scored() -> None:
    """F40: rejected candidates and the seed are among them."""
    seed, best = measured([1, 0, 0, 0], "seed"), measured([1, 1, 1, 0], "best", step=2)
    low, tie = measured([0, 0, 0, 0], "low", step=1), measured([1, 1, 1, 0], "tie", step=1)
    state = ended(seed, best, low, best, tie)
    names = [one.skill.text for one in finalists(state, 9, HARD)]
    assert names == ["best", "tie", "seed", "low"]
    assert [len(finalists(state, most, HARD)) for most in (0, 1, 2, 3)] == [1, 1, 2, 3]
    assert finalists(state, 1, HARD) == (best,)


def test_a_skill_that_came_twice_is_one_finalist_with_its_latest_passes() -> None:
    """The first score may have been luck; the passes of the second are the ones that chose nothing."""
    seed, lucky = measured([0, 0], "seed"), measured([1, 1], "twice", step=1)
    fresh = again(measured([1, 0], "twice", step=1), 2)
    assert finalists(ended(seed, fresh, lucky, fresh, lucky), 9, HARD) == (fresh, seed)


@given(st.lists(st.integers(0, 3).map(lambda n: Fraction(n, 3)), max_size=6))
def test_the_highest_score_wins_and_a_tie_is_for_the_first(scores: list[Fraction]) -> None:
    place = best_of(scores)
    assert place == (scores.index(max(scores)) if scores else 0)


def settings(**evaluation: Any) -> dict[str, Any]:
    return {f"evaluation.{key}": value for key, value in evaluation.items()}


async def skill_of(bench: Bench, text: str, *, step: int) -> Measured:
    skill = Skill.parse(text)
    return Measured(skill, await measure_passes(bench, skill, range(1), Place("gate", 1, step)), step)


async def three(bench: Bench) -> State:
    """A seed that solves nothing, a best skill that solved two tasks at the gate, a rejected one that solved one."""
    seed = await skill_of(bench, "", step=0)
    best = await skill_of(bench, f"{rule(4)}\n{rule(5)}\n", step=1)
    other = await skill_of(bench, f"{rule(6)}\n", step=2)
    bench.target.requests.clear()
    bench.events.clear()
    return ended(seed, best, best, other)


def turning(request: ChatRequest) -> Said:
    """What wins at the gate loses afterwards: from the second draw on nobody knows q4 and q5."""
    known = request.place.attempt == 0 or request.messages[-1].content not in ("q4", "q5")
    return look_up(request) if known else "unknown"


async def test_nothing_is_measured_again_unless_asked_for(open_bench: OpenBench) -> None:
    bench = open_bench()
    state = await three(bench)
    assert await choose_and_measure(bench, state) is state
    assert (bench.target.requests, bench.events) == ([], [])


async def test_the_choice_is_by_passes_that_no_step_has_used(open_bench: OpenBench) -> None:
    """F40."""
    bench = open_bench(target=turning, settings=settings(reselect=3))
    state = await choose_and_measure(bench, await three(bench))
    assert (state.best.step, state.current.step) == (2, 1)
    assert state.final is not None
    assert [one.step for one in state.final.finalists] == [1, 2, 0]
    assert {one.repeat for rollouts in state.final.fresh for one in rollouts} == {1}
    assert StageStarted("final", 1, 9, 12) in bench.events
    assert {request.place.stage for request in bench.target.requests} == {"final"}


async def test_the_reported_passes_are_others_than_those_that_chose(open_bench: OpenBench) -> None:
    """F37: what chose among several was again the highest of several draws."""
    bench = open_bench(settings=settings(reselect=2, final_repeats=2))
    state = await choose_and_measure(bench, await three(bench))
    assert state.final is not None
    assert {one.repeat for one in state.final.again} == {2, 3}
    assert {one.skill_digest for one in state.final.again} == {state.best.skill.digest}
    assert len(bench.target.requests) == (2 + 2 + 2) * 4


async def test_the_seed_is_measured_again_beside_the_best_skill_in_passes_of_its_own(open_bench: OpenBench) -> None:
    """F37: a gain over a low draw of the baseline is luck too, and a fresh pass of the seed's may have been used."""
    bench = open_bench(settings=settings(final_repeats=2))
    before = await three(bench)
    seed = again(before.seed, 4)
    state = await choose_and_measure(bench, replace(before, seed=seed))
    assert state.final is not None
    assert [one.repeat for one in state.final.seed_again] == [4] * 4 + [5] * 4
    assert [one.repeat for one in state.final.again] == [4] * 4 + [5] * 4
    assert {one.skill_digest for one in state.final.seed_again} == {seed.skill.digest}
    assert reported(state) == (state.final.seed_again, state.final.again)
    assert reported(before) == (before.seed.rollouts, before.best.rollouts)
    assert StageStarted("final", 1, 9, 2 * 2 * 4) in bench.events
    assert len({request.place.index for request in bench.target.requests}) == 2


async def test_a_gain_that_was_luck_is_told(open_bench: OpenBench) -> None:
    bench = open_bench(target=turning, settings=settings(final_repeats=1))
    state = await choose_and_measure(bench, await three(bench))
    assert state.best.step == 1
    (told,) = [event.message for event in bench.events if isinstance(event, Warned)]
    assert told == (
        "measured again, the best skill scores 0.0 %, not above the seed's 0.0 %: what it gained may have been luck"
    )


async def test_a_seed_that_nothing_has_beaten_is_not_measured_again(open_bench: OpenBench) -> None:
    bench = open_bench(settings=settings(final_repeats=3, reselect=3))
    seed = await skill_of(bench, "", step=0)
    bench.target.requests.clear()
    state = ended(seed, seed)
    assert await choose_and_measure(bench, state) is state
    assert bench.target.requests == []


async def test_a_choice_needs_every_task(open_bench: OpenBench) -> None:
    """F14: nobody is chosen for what could not be measured of the others."""

    def script(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.place.stage == "final" else look_up(request)

    bench = open_bench(target=script, settings=settings(reselect=2))
    state = await three(bench)
    with pytest.raises(MeasurementError, match="final: 1 of 4 tasks could not be measured"):
        await choose_and_measure(bench, state)
