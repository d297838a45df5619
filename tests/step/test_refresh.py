"""A fresh pass of the current skill ahead of a step."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.bench import Bench, OpenBench, look_up

from skillopt.errors import MeasurementError, TransientModelError
from skillopt.events import StageStarted
from skillopt.models.base import ChatRequest
from skillopt.simulation.scripted import Said
from skillopt.state import State
from skillopt.step.refresh import refresh
from skillopt.trainer import measure_baseline
from skillopt.types import Place


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
