"""Stage 1: the target does a batch of training tasks with the current skill."""

from __future__ import annotations

from tests.support.bench import OpenBench, look_up, rule
from tests.support.values import state

from skillopt.errors import TransientModelError
from skillopt.events import StageProgress, StageStarted
from skillopt.models.base import ChatRequest
from skillopt.simulation.scripted import Said
from skillopt.step.rollout import rollout


async def test_the_batch_is_rolled_out_with_the_current_skill_in_its_order(open_bench: OpenBench) -> None:
    bench = open_bench()
    batch = bench.splits.train[::-1]
    rollouts = await rollout(bench, state(text=rule(1)), batch)
    assert [one.task for one in rollouts] == list(batch)
    assert {one.task.id for one in rollouts if one.score and one.score.hard} == {"t1"}
    assert all(request.place.step == 1 and request.place.stage == "rollout" for request in bench.target.requests)


async def test_each_task_done_is_told(open_bench: OpenBench) -> None:
    bench = open_bench()
    await rollout(bench, state(), bench.splits.train)
    assert bench.events[0] == StageStarted("rollout", 1, 1, 4)
    progress = [event for event in bench.events if isinstance(event, StageProgress)]
    assert [(event.done, event.total) for event in progress] == [(1, 4), (2, 4), (3, 4), (4, 4)]


async def test_a_task_that_could_not_be_measured_keeps_its_reason_and_has_no_score(open_bench: OpenBench) -> None:
    """F1: the others go on."""

    def script(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.messages[-1].content == "q2" else look_up(request)

    bench = open_bench(target=script, settings={"evaluation.max_unmeasured": 0.25})
    rollouts = await rollout(bench, state(text=rule(2)), bench.splits.train)
    assert [one.measured for one in rollouts] == [True, True, False, True]
    assert rollouts[2].failure is not None
    assert rollouts[2].failure.message == "down"
