"""Measuring a skill in passes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.bench import OpenBench, look_up
from tests.support.values import measured

from skillopt.errors import MeasurementError, TransientModelError
from skillopt.models.base import ChatRequest
from skillopt.simulation.scripted import Said
from skillopt.step.passes import latest_of, measure_draws, measure_passes
from skillopt.types import Place

PLACE = Place("baseline")


async def test_each_pass_is_a_draw_of_its_own_over_the_whole_split(open_bench: OpenBench) -> None:
    """F37: the second pass asks again; the third start of the same passes asks nothing."""
    bench = open_bench()
    rollouts = await measure_passes(bench, bench.seed_skill, range(2), PLACE)
    assert [(one.task.id, one.repeat) for one in rollouts] == [
        (f"t{number}", repeat) for repeat in (0, 1) for number in range(4, 8)
    ]
    assert len(bench.target.requests) == 8
    assert await measure_passes(bench, bench.seed_skill, range(2), PLACE) == rollouts
    assert len(bench.target.requests) == 8


async def test_a_pass_needs_every_task(open_bench: OpenBench) -> None:
    def script(request: ChatRequest) -> Said:
        lost = request.messages[-1].content == "q6" and request.place.attempt == 1
        return TransientModelError("down") if lost else look_up(request)

    bench = open_bench(target=script)
    with pytest.raises(MeasurementError, match="1 of 4 tasks could not be measured"):
        await measure_passes(bench, bench.seed_skill, range(2), PLACE)


@pytest.mark.parametrize("most", [1, 2])
async def test_what_may_be_missing_is_counted_over_all_draws(open_bench: OpenBench, most: int) -> None:
    def script(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.messages[-1].content == "q6" else look_up(request)

    bench = open_bench(target=script)
    draws = [(task, repeat) for task in bench.selection for repeat in (0, 1)]
    if most == 1:
        with pytest.raises(MeasurementError):
            await measure_draws(bench, bench.seed_skill, draws, PLACE, most_unmeasured=most)
    else:
        rollouts = await measure_draws(bench, bench.seed_skill, draws, PLACE, most_unmeasured=most)
        assert [(one.task.id, one.repeat) for one in rollouts if not one.measured] == [("t6", 0), ("t6", 1)]


def test_of_each_skill_the_latest_passes_are_kept_in_order_of_first_appearance() -> None:
    old, other = measured([1, 1], "one"), measured([0, 0], "two")
    new = replace(old, rollouts=tuple(replace(one, repeat=1) for one in old.rollouts))
    assert latest_of((old, other, new, old)) == (new, other)
    assert latest_of((old, replace(old, step=7))) == (old,)
