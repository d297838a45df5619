"""The skills of two epochs on the same training tasks."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.bench import Bench, OpenBench, look_up, rule
from tests.support.values import rollout, unmeasured

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.epoch.comparison import compare, pair_up
from skillopt.errors import MeasurementError, TransientModelError
from skillopt.events import StageStarted
from skillopt.models.base import ChatRequest
from skillopt.simulation.scripted import Said
from skillopt.skill.document import Skill
from skillopt.state import Measured, State
from skillopt.types import PairCategory

SOFT = EvaluationSettings(gate_metric="soft")


def epoch_end(bench: Bench, *, previous: str, current: str, epoch: int = 2, step: int = 4) -> State:
    """The end of an epoch that began with one skill and ends with another."""
    measured = Measured(Skill.parse(current), tuple(rollout(number) for number in range(4, 8)), step)
    state = State(measured, measured, measured, epoch, step, previous=Skill.parse(previous))
    return replace(state, budget=4)


def rules(*numbers: int) -> str:
    return "".join(f"{rule(number)}\n" for number in numbers)


@pytest.mark.parametrize(
    ("before", "after", "category"),
    [
        ((0, 0.9), (0, 0.05), PairCategory.REGRESSED),
        ((0, 0.05), (0, 0.9), PairCategory.IMPROVED),
        ((0, 0.5), (0, 0.5), PairCategory.PERSISTENT_FAIL),
        ((1, 1.0), (1, 1.0), PairCategory.STABLE_SUCCESS),
        ((1, 1.0), (0, 0.9), PairCategory.REGRESSED),
        ((0, 0.0), (1, 1.0), PairCategory.IMPROVED),
    ],
)
def test_the_difference_of_the_scores_makes_the_category(
    before: tuple[int, float], after: tuple[int, float], category: PairCategory
) -> None:
    """More 5: 0.9 -> 0.05 is regressed though neither is solved, and 0.05 is not taken for a success."""
    (pair,) = pair_up([rollout(1, *before)], [rollout(1, *after)], SOFT)
    assert (pair.category, pair.task.id) == (category, "t1")


def test_it_is_the_score_that_the_gate_compares() -> None:
    one, other = [rollout(1, 0, 0.9)], [rollout(1, 0, 0.05)]
    (pair,) = pair_up(one, other, EvaluationSettings(gate_metric="hard"))
    assert pair.category is PairCategory.PERSISTENT_FAIL
    (pair,) = pair_up(one, other, EvaluationSettings(gate_metric="mixed", gate_mixed_weight=0.1))
    assert pair.category is PairCategory.REGRESSED


def test_a_missing_result_is_no_category() -> None:
    """More 5, F1."""
    pairs = pair_up(
        [unmeasured(1), rollout(2, 1), rollout(3)], [rollout(1), unmeasured(2), rollout(3, 1)], EvaluationSettings()
    )
    assert [(pair.task.id, pair.category) for pair in pairs] == [("t3", PairCategory.IMPROVED)]


async def test_so_many_training_tasks_are_compared_and_drawn_by_the_seed(open_bench: OpenBench) -> None:
    async def drawn(samples: int, *, seed: int = 42, epoch: int = 2, stage: str = "slow_update") -> list[str]:
        settings = {"optimizer.slow_update_samples": samples, "train.seed": seed}
        bench = open_bench(splits={"train": range(20, 40)}, settings=settings)
        found = await compare(bench, epoch_end(bench, previous="", current="# A\n", epoch=epoch), stage)
        assert [one.task.id for one in found.previous] == [one.task.id for one in found.current]
        assert bench.events[0] == StageStarted(stage, epoch, 4, 2 * samples)
        return [pair.task.id for pair in found.pairs]

    three = await drawn(3)
    assert len(three) == 3
    assert (await drawn(5))[:3] == await drawn(3, stage="meta_skill") == three
    assert len({tuple(three), tuple(await drawn(3, seed=1)), tuple(await drawn(3, epoch=3))}) == 3


async def test_no_more_tasks_are_compared_than_there_are(open_bench: OpenBench) -> None:
    bench = open_bench()
    found = await compare(bench, epoch_end(bench, previous=rules(0, 1), current=rules(1, 2)), "slow_update")
    assert {pair.task.id: pair.category.value for pair in found.pairs} == {
        "t0": "regressed",
        "t1": "stable_success",
        "t2": "improved",
        "t3": "persistent_fail",
    }
    assert found.counts == {
        "improved": 1,
        "regressed": 1,
        "persistent_fail": 1,
        "stable_success": 1,
        "unmeasured": 0,
    }


@pytest.mark.parametrize(
    ("policy", "compared", "shown"),
    [("mixed", 4, {20, 21, 22, 23}), ("unchanged", 4, {22, 23}), ("changed", 20, {20, 21, 30})],
)
async def test_the_policy_decides_which_pairs_are_shown(
    open_bench: OpenBench, policy: str, compared: int, shown: set[int]
) -> None:
    """longitudinal_pair_policy: changed looks through further training tasks for as many changes as were asked for."""
    settings = {"optimizer.slow_update_samples": 4, "optimizer.longitudinal_pair_policy": policy}
    bench = open_bench(splits={"train": range(20, 40)}, settings=settings)
    order = list(bench.training)
    bench.random("slow_update.sample", 2).shuffle(order)
    numbers = {task.id: number for number, task in enumerate(order, start=20)}
    changed = [int(order[place].id[1:]) for place in (0, 1, 10)]
    state = epoch_end(bench, previous=rules(changed[0]), current=rules(*changed[1:]))
    found = await compare(bench, state, "slow_update")
    assert len(found.current) == compared
    assert {numbers[pair.task.id] for pair in found.shown} == shown
    asked = [(one.messages[0].content, one.messages[-1].content) for one in bench.target.requests]
    assert len(asked) == len(set(asked)) == 2 * compared


async def test_enough_changes_end_the_search(open_bench: OpenBench) -> None:
    settings = {"optimizer.slow_update_samples": 4, "optimizer.longitudinal_pair_policy": "changed"}
    bench = open_bench(splits={"train": range(20, 40)}, settings=settings)
    found = await compare(bench, epoch_end(bench, previous="", current=rules(*range(20, 40))), "slow_update")
    assert len(found.current) == len(found.shown) == 4


async def test_a_skill_that_did_not_change_is_measured_once(open_bench: OpenBench) -> None:
    bench = open_bench()
    await compare(bench, epoch_end(bench, previous="# A\n", current="# A\n"), "slow_update")
    assert len(bench.target.requests) == 4


@pytest.mark.parametrize("share", [0.0, 0.25])
async def test_more_lost_tasks_than_may_be_missing_end_the_run(open_bench: OpenBench, share: float) -> None:
    """F1, F9."""

    def script(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.messages[-1].content == "q2" else look_up(request)

    bench = open_bench(target=script, settings={"evaluation.max_unmeasured": share})
    state = epoch_end(bench, previous="", current="# A\n")
    if share:
        found = await compare(bench, state, "slow_update")
        assert (len(found.pairs), found.counts["unmeasured"]) == (3, 1)
    else:
        with pytest.raises(MeasurementError, match="slow_update: 1 of 4"):
            await compare(bench, state, "slow_update")
