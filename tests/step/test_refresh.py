"""A fresh pass of the current skill ahead of a step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.bench import Bench, OpenBench, look_up, rule
from tests.support.values import measured

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.errors import MeasurementError, TransientModelError
from skillopt.events import StageStarted
from skillopt.models.base import ChatRequest
from skillopt.simulation.scripted import Said
from skillopt.state import Measured, State
from skillopt.step.refresh import highest, refresh
from skillopt.trainer import measure_baseline
from skillopt.types import Place, Rollout


async def begun(bench: Bench, *, rejected: int) -> State:
    return replace((await measure_baseline(bench)).next_step(epoch=1, budget=4), rejected=rejected)


@pytest.mark.parametrize(("patience", "rejected", "asked"), [(0, 9, 0), (2, 1, 0), (2, 2, 4), (2, 3, 4)])
async def test_a_pass_with_a_new_number_is_measured_where_it_is_due(
    open_bench: OpenBench, patience: int, rejected: int, asked: int
) -> None:
    bench = open_bench(settings={"evaluation.refresh": patience})
    before = await begun(bench, rejected=rejected)
    after = await refresh(bench, before)
    requests = [one.place for one in bench.target.requests if one.place.stage == "refresh"]
    assert len(requests) == asked
    assert (after is before) == (not asked)
    if asked:
        assert after.refreshed is not None
        assert [one.repeat for one in after.current.rollouts] == [0] * 4 + [1] * 4
        assert after.current.rollouts[4:] == after.refreshed.fresh
        assert {replace(place, attempt=0) for place in requests} == {Place("refresh", 1, 1)}
        assert StageStarted("refresh", 1, 1, 4) in bench.events


async def test_a_pass_needs_every_task(open_bench: OpenBench) -> None:
    """F1: an outage is no part of the bar."""

    def script(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.place.stage == "refresh" else look_up(request)

    bench = open_bench(target=script, settings={"evaluation.refresh": 1, "evaluation.max_unmeasured": 1.0})
    with pytest.raises(MeasurementError, match="refresh: 1 of 4 tasks"):
        await refresh(bench, await begun(bench, rejected=1))


async def test_a_fresh_pass_chooses_the_best_skill_anew(open_bench: OpenBench) -> None:
    """The current skill may get above the best one as well, where its first score was bad luck."""
    bench = open_bench(skill=f"{rule(4)}\n", settings={"evaluation.refresh": 1})
    begin = await begun(bench, rejected=1)
    unlucky = replace(begin.current, rollouts=replace_scores(begin.current, [0, 0, 0, 0]))
    state = replace(begin, seed=measured([0] * 4, "seed"), current=unlucky, best=measured([0] * 4, "best", step=1))
    after = await refresh(bench, state)
    assert (after.best, after.best.skill) == (after.current, begin.current.skill)


def replace_scores(of: Measured, hard: list[int]) -> tuple[Rollout, ...]:
    return tuple(
        replace(one, score=replace(one.score, hard=value, soft=float(value)) if one.score else None)
        for one, value in zip(of.rollouts, hard, strict=True)
    )


def test_the_best_is_the_highest_of_the_seed_and_what_was_accepted() -> None:
    """A tie keeps the present best, then takes the earliest; what the gate rejected is never the best."""
    seed, best = measured([1, 0, 0], "seed"), measured([1, 0, 0], "best", step=3)
    first, second = measured([1, 1, 0], "first", step=1), measured([0, 1, 1], "second", step=2)
    low, rejected = measured([0, 0, 0], "low", step=4), replace(measured([1, 1, 1], "no", step=5), accepted=False)

    def chosen(*tried: Measured, current: Measured = low) -> str:
        state = State(seed=seed, current=current, best=best, tried=tried)
        return highest(state, EvaluationSettings()).skill.text

    assert chosen() == chosen(best, low, rejected) == "best"
    assert chosen(first, second, best, low) == "first"
    assert chosen(current=second) == "second"
    lucky = measured([1, 1, 1], "best", step=3)
    renewed = replace(best, rollouts=tuple(replace(one, repeat=1) for one in best.rollouts))
    state = State(seed=seed, current=low, best=renewed, tried=(lucky, low))
    assert highest(state, EvaluationSettings()) is renewed, "an earlier score of the same skill may have been luck"
