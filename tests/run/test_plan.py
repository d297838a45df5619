"""What a training will cost, against what trainings did cost."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from tests.run.conftest import Finished
from tests.support.runs import SMALL, write_run

from skillopt.api import train
from skillopt.config.load import load_config
from skillopt.models.prices import Prices
from skillopt.run.plan import plan, plan_warnings
from skillopt.run.planned import Plan, PlannedStage
from skillopt.run.setup import Setup, prepare
from skillopt.simulation.world import World

DAY = date(2025, 6, 1)


def set_up(directory: Path, world: World = SMALL, **settings: Any) -> Setup:
    dotted = {key.replace("__", "."): value for key, value in settings.items()}
    return prepare(load_config(write_run(directory, world, settings=dotted)))


def planned(directory: Path, world: World = SMALL, **settings: Any) -> Plan:
    setup = set_up(directory, world, **settings)
    return plan(setup, Prices(setup.config.model, on=DAY))


def stage(found: Plan, name: str) -> PlannedStage:
    (one,) = (entry for entry in found.stages if entry.stage == name)
    return one


def assert_within(found: Plan, summary: Mapping[str, Any]) -> None:
    """Every stage's calls lie within the plan, and nothing was asked that the plan does not know."""
    calls = Counter({name: amounts["calls"] for name, amounts in summary["usage"].items()})
    for entry in found.stages:
        low, high = entry.calls
        assert low <= calls.pop(f"{entry.role}.{entry.stage}", 0) <= high, entry
    assert not calls


def test_the_calls_of_a_real_run_lie_within_the_plan(finished: Finished) -> None:
    """F120, F124."""
    setup = prepare(load_config(finished.config))
    found = plan(setup, Prices(setup.config.model, on=DAY))
    assert_within(found, finished.summary)
    assert found.steps == 10
    assert found.tasks == {"train": 20, "val": 10, "test": 10}
    for entry in found.stages:
        used = finished.summary["usage"].get(f"{entry.role}.{entry.stage}")
        if used and entry.role == "target":
            assert entry.usage[0].fresh_tokens <= used["fresh_tokens"] <= entry.usage[1].fresh_tokens


@pytest.mark.parametrize(
    "settings",
    [
        {"gradient.failure_only": True, "gradient.merge_batch_size": 2, "gradient.minibatch_size": 1},
        {"gradient.merge_batch_size": 2, "gradient.minibatch_size": 1, "optimizer.learning_rate": 1},
        {"evaluation.use_gate": False, "evaluation.eval_test": False},
        {"optimizer.redraw": 2, "train.num_epochs": 1},
        {"optimizer.redraw": 1, "evaluation.vet": 2},
        {"train.sampling": "unsolved", "train.batch_size": 5},
        {"optimizer.skill_update_mode": "rewrite_from_suggestions", "train.accumulation": 3},
        {"optimizer.skill_update_mode": "full_rewrite_minibatch", "train.num_epochs": 1},
        {"optimizer.lr_control_mode": "autonomous", "gradient.minibatch_size": 4},
        {"optimizer.lr_control_mode": "none", "gradient.minibatch_size": 1},
        {"optimizer.lr_control_mode": "none", "gradient.minibatch_size": 1, "evaluation.vet": 2},
        {"optimizer.lr_control_mode": "autonomous", "gradient.minibatch_size": 1, "evaluation.vet": 2},
        {"evaluation.gate_every": 3, "evaluation.refresh": 1, "optimizer.redraw": 1},
        {"train.num_epochs": 3, "optimizer.use_slow_update": False, "optimizer.longitudinal_pair_policy": "changed"},
        {
            "optimizer.use_skill_aware_reflection": True,
            "optimizer.skill_aware_consolidate_threshold": 1,
            "model.target.name": "simulated:target?lapse=0.5&seed=5&rules=4&tasks=32",
        },
        {"train.num_epochs": 3, "optimizer.slow_update_samples": 4, "optimizer.slow_update_gate_with_selection": False},
    ],
    ids=lambda settings: "-".join(key.partition(".")[2] for key in settings),
)
async def test_the_plan_holds_for_other_shapes_of_training(tmp_path: Path, settings: dict[str, Any]) -> None:
    parameters = "malformed=0.3&useless=0.9&useful=0.3&seed=5&rules=4&tasks=32"
    config = write_run(tmp_path, settings={"model.optimizer.name": f"simulated:optimizer?{parameters}", **settings})
    setup = prepare(load_config(config))
    assert_within(plan(setup, Prices(setup.config.model, on=DAY)), (await train(config)).summary)


def test_the_upper_end_is_what_the_method_says(tmp_path: Path) -> None:
    """16 training tasks at 4 a step, twice over: 8 steps, each with up to 2 + 1 minibatches of 2."""
    found = planned(tmp_path, optimizer__use_slow_update=False, optimizer__use_meta_skill=False)
    assert {entry.stage: entry.calls for entry in found.stages} == {
        "baseline": (8, 8),
        "rollout": (16, 32),
        "reflect": (0, 2 * 8 * 3),
        "aggregate": (0, 2 * 8 * 2),
        "select": (0, 2 * 8),
        "update": (0, 2 * 8),
        "gate": (0, 64),
        "test": (8, 16),
    }
    assert found.calls("target") == (32, 120)
    assert found.calls("optimizer") == (0, 112)


@pytest.mark.parametrize(("size", "epochs", "calls"), [(5, 3, (5, 12 * 5)), (16, 1, (16, 16)), (40, 2, (16, 32))])
def test_batches_of_unsolved_tasks_may_be_the_same_task_again_and_again(
    tmp_path: Path, size: int, epochs: int, calls: tuple[int, int]
) -> None:
    """Of 16 training tasks: at least one batch, and at most a full one a step."""
    settings = {"train__sampling": "unsolved", "train__batch_size": size, "train__num_epochs": epochs}
    assert stage(planned(tmp_path, **settings), "rollout").calls == calls


def test_vetting_tries_each_edit_of_each_draw(tmp_path: Path) -> None:
    """8 steps of 2 edits, on 3 tasks each or on as many as a batch holds."""
    most = {
        (tasks, redraws): stage(
            planned(tmp_path, evaluation__vet=tasks, optimizer__redraw=redraws, optimizer__min_learning_rate=2), "vet"
        ).calls[1]
        for tasks, redraws in ((3, 0), (3, 1), (99, 0))
    }
    assert most == {(3, 0): 8 * 2 * 3, (3, 1): 2 * 8 * 2 * 3, (99, 0): 8 * 2 * 4}
    assert "vet" not in {entry.stage for entry in planned(tmp_path).stages}


def test_the_budget_that_the_optimizer_names_is_planned(tmp_path: Path) -> None:
    found = planned(tmp_path, optimizer__lr_control_mode="autonomous")
    assert stage(found, "budget").calls == (0, 2 * 8)
    assert [entry.stage for entry in planned(tmp_path).stages if entry.stage == "budget"] == []


def test_whole_rewrites_are_planned_with_replies_as_long_as_the_skill(tmp_path: Path) -> None:
    """Nothing is merged, ranked or repaired; but the reply is the whole skill."""
    found = planned(tmp_path, optimizer__skill_update_mode="full_rewrite_minibatch", skill__max_tokens=5000)
    assert [stage(found, name).calls[1] for name in ("aggregate", "select", "update")] == [0, 0, 0]
    calls, most = stage(found, "reflect").calls[1], stage(found, "reflect").usage[1].output_tokens
    assert most == 5000 * calls
    assert stage(planned(tmp_path), "reflect").usage[1].output_tokens == 1500 * calls


def test_several_batches_a_step_make_fewer_steps(tmp_path: Path) -> None:
    """16 tasks in batches of 4, three to a step: two steps an epoch, of up to nine minibatches."""
    found = planned(tmp_path, train__accumulation=3, train__num_epochs=1)
    assert (found.steps, stage(found, "reflect").calls, stage(found, "rollout").calls) == (2, (0, 2 * 2 * 9), (16, 16))
    assert "at train.batch_size 4 times train.accumulation 3, 1 times over" in "\n".join(found.warnings)


def test_passes_over_the_selection_split_are_planned(tmp_path: Path) -> None:
    """F23: the price tag of several passes stands there before anything is paid."""
    found = planned(tmp_path, evaluation__repeats=3)
    assert (stage(found, "baseline").calls, stage(found, "gate").calls) == ((24, 24), (0, 3 * 64))
    again = planned(tmp_path, evaluation__repeats=3, evaluation__remeasure=True)
    assert stage(again, "gate").calls == (0, 2 * 3 * 64)


@pytest.mark.parametrize(("every", "redraw", "gates"), [(2, 0, 7), (4, 0, 4), (9, 0, 2), (2, 1, 7 * 2), (9, 1, 4 * 2)])
def test_fewer_gates_are_planned_where_steps_are_gated_together(
    tmp_path: Path, every: int, redraw: int, gates: int
) -> None:
    """Two epochs of 4 steps, all rejected: after a window of 4 come 2, then 1; an epoch's end always gates.

    With redraws a window may be halved once for each draw.
    """
    found = planned(tmp_path, evaluation__gate_every=every, optimizer__redraw=redraw)
    assert stage(found, "gate").calls == (0, gates * 8)


@pytest.mark.parametrize(("refresh", "passes"), [(1, 7), (2, 4), (3, 3), (9, 1), (10, 0)])
def test_fresh_passes_after_rejections_are_planned(tmp_path: Path, refresh: int, passes: int) -> None:
    """Eight steps and one slow update can be rejected; no step has two passes ahead of it, and the first has none."""
    assert stage(planned(tmp_path, evaluation__refresh=refresh), "refresh").calls == (0, passes * 8)
    assert "refresh" not in {entry.stage for entry in planned(tmp_path).stages}


def test_what_is_measured_after_the_last_step_is_planned(tmp_path: Path) -> None:
    """Of 8 steps, one slow update and the seed at most 10 skills can be finalists; two of them are reported."""
    final = {
        (reselect, repeats): stage(
            planned(tmp_path, evaluation__reselect=reselect, evaluation__final_repeats=repeats), "final"
        ).calls
        for reselect, repeats in ((0, 2), (3, 0), (99, 2))
    }
    assert final == {(0, 2): (0, 2 * 2 * 8), (3, 0): (0, 3 * 8), (99, 2): (0, (10 + 2 * 2) * 8)}
    assert "final" not in {entry.stage for entry in planned(tmp_path, evaluation__reselect=1).stages}


@pytest.mark.parametrize(("confidence", "told"), [(0.99, False), (0.999, True)])
def test_a_confidence_that_the_split_can_never_reach_is_told(tmp_path: Path, confidence: float, told: bool) -> None:
    """Eight selection tasks: 1/2^8 is below 0.01 and above 0.001."""
    warnings = "\n".join(planned(tmp_path, evaluation__confidence=confidence).warnings)
    sentence = "0.999 takes 10 tasks that change, all for the better, and the selection split has 8"
    assert (sentence in warnings) == told


@pytest.mark.parametrize(
    ("samples", "policy", "target"), [(20, "mixed", 2 * 16 + 8), (5, "mixed", 2 * 5 + 8), (5, "changed", 2 * 16 + 8)]
)
def test_every_end_of_an_epoch_but_the_first_looks_back(tmp_path: Path, samples: int, policy: str, target: int) -> None:
    """Both skills on the sample, or as far as changed scores are looked for; then the gate. Two calls at most."""
    settings = {"optimizer__slow_update_samples": samples, "optimizer__longitudinal_pair_policy": policy}
    for epochs in (1, 2, 4):
        found = planned(tmp_path, train__num_epochs=epochs, **settings)
        ends = [entry.calls for entry in found.stages if entry.stage == "slow_update"]
        assert ends == ([(0, (epochs - 1) * target), (0, (epochs - 1) * 2)] if epochs > 1 else [])


@pytest.mark.parametrize(("slow_update", "calls"), [(True, [2]), (False, [2 * 16, 2])])
def test_the_meta_skill_compares_by_itself_only_without_a_slow_update(
    tmp_path: Path, slow_update: bool, calls: list[int]
) -> None:
    found = planned(tmp_path, optimizer__use_slow_update=slow_update)
    assert [entry.calls for entry in found.stages if entry.stage == "meta_skill"] == [(0, most) for most in calls]


def test_merges_are_counted_for_both_sides_and_all_levels(tmp_path: Path) -> None:
    """Two sides of two patches each take a merge of their own and the final one."""
    found = planned(tmp_path, gradient__minibatch_size=1, gradient__merge_batch_size=2, train__num_epochs=1)
    # Five patches at most; 2 + 3: one merge, two merges (the second level), the final one.
    assert stage(found, "aggregate").calls == (0, 2 * 4 * 4)


@pytest.mark.parametrize(("epochs", "rollouts"), [(1, (16, 16)), (4, (16, 64))])
def test_an_unchanged_skill_does_every_task_once(tmp_path: Path, epochs: int, rollouts: tuple[int, int]) -> None:
    """What was measured is never paid again, so the lower end does not grow with the epochs."""
    found = planned(tmp_path, train__num_epochs=epochs)
    assert stage(found, "rollout").calls == rollouts
    assert stage(found, "test").calls == (8, 16)


def test_what_is_switched_off_is_not_planned(tmp_path: Path) -> None:
    assert stage(planned(tmp_path, evaluation__eval_test=False), "test").calls == (0, 0)
    still = planned(tmp_path, optimizer__learning_rate=0, optimizer__lr_scheduler="constant", train__num_epochs=1)
    assert still.calls("optimizer") == (0, 0)
    assert stage(still, "gate").calls == (0, 0)
    assert stage(still, "test").calls == (8, 8)


def test_every_redraw_may_cost_a_reflection_and_a_gate(tmp_path: Path) -> None:
    once, thrice = planned(tmp_path), planned(tmp_path, optimizer__redraw=2)
    for name in ("reflect", "aggregate", "select", "update", "gate"):
        assert stage(thrice, name).calls[1] == 3 * stage(once, name).calls[1]
    for name in ("baseline", "rollout", "test"):
        assert stage(thrice, name).calls == stage(once, name).calls


def test_every_step_may_shorten_an_appendix_that_has_a_threshold(tmp_path: Path) -> None:
    settings = {"optimizer__use_skill_aware_reflection": True, "optimizer__skill_aware_consolidate_threshold": 3}
    shortening = planned(tmp_path, **settings)
    assert stage(shortening, "appendix_consolidate").calls == (0, stage(shortening, "update").calls[1])
    for name in settings:
        other = planned(tmp_path, **(settings | {name: 0 if "threshold" in name else False}))
        assert "appendix_consolidate" not in [entry.stage for entry in other.stages]
    growing, plain = planned(tmp_path, **settings), planned(tmp_path)
    assert stage(growing, "gate").usage[1].fresh_tokens > stage(plain, "gate").usage[1].fresh_tokens


def test_the_price_comes_from_the_configuration(tmp_path: Path) -> None:
    price = {"input": 1000.0, "output": 0.0}
    names = {"model.target.name": "compatible:any", "model.target.base_url": "http://127.0.0.1:9/v1"}
    settings = {f"{key}".replace(".", "__"): value for key, value in names.items()}
    entry = stage(planned(tmp_path, **settings, model__target__price=price), "baseline")
    low, high = entry.usage
    assert entry.dollars == pytest.approx((low.fresh_tokens / 1000, high.fresh_tokens / 1000))
    assert 0 < low.fresh_tokens <= high.fresh_tokens


def test_an_unknown_price_stays_unknown_and_a_known_one_known(tmp_path: Path) -> None:
    """F11: no invented number, and no zero."""
    found = planned(tmp_path, model__target__name="openai:no-such-model-there-is",
                    model__optimizer__name="openai:gpt-4o-mini")  # fmt: skip
    assert stage(found, "baseline").dollars == (None, None)
    low, high = stage(found, "reflect").dollars
    assert low == 0.0
    assert high is not None
    assert 0 < high < 10


def test_most_tokens_of_a_reply_bound_its_price(tmp_path: Path) -> None:
    entry = stage(planned(tmp_path, model__target__max_tokens=5), "baseline")
    assert {usage.output_tokens for usage in entry.usage} == {8 * 5}


@pytest.mark.parametrize(("batch_size", "warned"), [(5, False), (8, True), (16, True)])
def test_too_few_proposals_are_warned_of_with_their_number(tmp_path: Path, batch_size: int, warned: bool) -> None:
    """F120: a budget that buys fewer than 3 proposals looks like success."""
    setup = set_up(tmp_path, train__batch_size=batch_size, train__num_epochs=1)
    found = [warning for warning in plan_warnings(setup) if "proposal" in warning]
    assert bool(found) is warned
    if warned:
        number = 16 // batch_size
        assert f"only {number} proposal{'s' if number > 1 else ''} will be tried: 16 training tasks" in found[0]


@pytest.mark.parametrize(("metric", "word"), [("hard", "12%"), ("soft", "luck")])
def test_splits_that_tell_little_are_warned_of_and_explained(tmp_path: Path, metric: str, word: str) -> None:
    """F17, F142: what the split is for, and what one of its tasks is worth."""
    selection, test = plan_warnings(set_up(tmp_path, evaluation__gate_metric=metric))
    assert "on which the gate decides, has 8 tasks" in selection
    assert word in selection
    assert "no step sees" in test
    assert "8 tasks: one of them is worth 12%" in test


def test_advice_is_given_only_where_it_is_true(tmp_path: Path) -> None:
    """F141."""
    assert plan_warnings(set_up(tmp_path, World(5, rules=4, tasks=40))) == ()
    without_test = set_up(tmp_path, evaluation__eval_test=False, env__split_ratio="4:3:1")
    assert not any("test split" in warning for warning in plan_warnings(without_test))


def test_what_the_data_warns_of_comes_first(tmp_path: Path) -> None:
    config = write_run(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text("utf-8").splitlines()]
    rows = [{**row, "answer": "the same"} for row in rows]
    (tmp_path / "tasks.jsonl").write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert "expect the same answer" in plan_warnings(prepare(load_config(config)))[0]
