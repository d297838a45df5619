"""Training on unsolved tasks alone: which ones each step draws, and how the training stands all the same."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.support.bench import Bench, OpenBench, by_stage, look_up, rule
from tests.support.runs import read_json, views, write_run

from skillopt.api import train as train_from
from skillopt.cli.progress import headline
from skillopt.errors import TransientModelError
from skillopt.events import StepCommitted
from skillopt.models.base import ChatRequest
from skillopt.simulation.scripted import Said
from skillopt.simulation.world import World
from skillopt.trainer import train

UNSOLVED = {"train.sampling": "unsolved", "optimizer.use_slow_update": False, "optimizer.use_meta_skill": False}
NO_IDEAS = by_stage(reflect={"edits": []})


def batches(run: Path) -> list[dict[str, Any]]:
    """What was done at each step: hard score by task id, None where it could not be measured."""
    found = (read_json(step / "rollout" / "results.json") for step in sorted((run / "steps").iterdir()))
    return [{row["id"]: row.get("hard") for row in rows} for rows in found]


async def test_a_step_draws_tasks_that_were_not_seen_or_failed_when_last_seen(tmp_path: Path) -> None:
    """The number of steps stays that of the whole split, and the record says how all seen tasks stood the last time."""
    settings = {**UNSOLVED, "train.num_epochs": 3, "train.batch_size": 9, "optimizer.learning_rate": 2}
    config = write_run(tmp_path, World(3, rules=16, tasks=64), settings=settings)
    outcome = await train_from(config)
    history = read_json(outcome.directory / "history.json")[1:]
    steps = batches(outcome.directory)
    assert len(steps) == len(history) > 8
    assert [record["step_in_epoch"] for record in history] == [number % 4 for number in range(len(history))]

    known: dict[str, int] = {}
    for record, batch in zip(history, steps, strict=True):
        assert not any(known.get(task) for task in batch)
        known |= batch
        assert (record["sampling"], record["train_known_n"]) == ("unsolved", len(known))
        assert record["train_known_solved"] == sum(known.values())
        assert record["train_known_acc"] == sum(known.values()) / len(known)
        assert record["rollout_n"] == len(batch)
    assert any(record["rollout_hard"] < record["train_known_acc"] for record in history)
    assert any(hard == 0 and task in later for batch, later in pairwise(steps) for task, hard in batch.items())

    before = views(outcome.directory)
    assert await train_from(config) == outcome
    assert views(outcome.directory) == before


async def test_by_default_every_epoch_is_one_pass_over_all_tasks(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=NO_IDEAS, settings={"train.num_epochs": 2, "train.batch_size": 3})
    await train(bench)
    sizes = [len(batch) for batch in batches(bench.directory)]
    assert sizes == [3, 1, 3, 1]
    assert [record["train_known_n"] for record in bench.history[1:]] == [3, 4, 4, 4]


async def test_few_unsolved_tasks_make_small_batches_and_the_terminal_says_how_all_stand(
    open_bench: OpenBench,
) -> None:
    skill = "\n".join(rule(number) for number in range(3)) + "\n"
    bench = open_bench(optimizer=NO_IDEAS, skill=skill, settings={**UNSOLVED, "train.num_epochs": 3})
    await train(bench)
    assert [sorted(batch) for batch in batches(bench.directory)] == [["t0", "t1", "t2", "t3"], ["t3"], ["t3"]]
    lines = [headline(event) for event in bench.events if isinstance(event, StepCommitted)][1:]
    assert ["train 3/4 (all seen: 3/4, 75.0 %)" in lines[0], "train 0/1 (all seen: 3/4, 75.0 %)" in lines[1]] == [
        True
    ] * 2


async def test_where_nothing_is_left_the_steps_pass_over_all_tasks_again_and_find_what_an_edit_broke(
    open_bench: OpenBench,
) -> None:
    skill = "\n".join(rule(number) for number in range(4)) + "\n"
    harm = {"op": "replace", "target": rule(0), "content": f"{rule(0, 'wrong')}\n{rule(4)}"}
    bench = open_bench(
        optimizer=by_stage(reflect=lambda request: {"edits": [harm] if request.place.step == 1 else []}),
        skill=skill,
        settings={**UNSOLVED, "train.num_epochs": 3, "train.batch_size": 2},
    )
    await train(bench)
    steps = batches(bench.directory)
    assert sorted([*steps[0], *steps[1]]) == ["t0", "t1", "t2", "t3"]
    assert bench.history[1]["action"] == "accept_new_best"
    if "t0" in steps[0]:
        # It was solved in step 1, so the pass begins anew with it, and from then on it is all that is left.
        assert steps[2].keys() == steps[0].keys()
        assert steps[2]["t0"] == 0
        assert steps[3:] == [{"t0": 0}] * 3
    else:
        assert steps[1]["t0"] == 0
        assert steps[2:] == [{"t0": 0}] * 4
    assert bench.history[-1]["train_known_acc"] == 0.75


async def test_a_task_that_cannot_be_measured_does_not_fill_the_batches(open_bench: OpenBench) -> None:
    """F2: batches of nothing but the tasks that fail to be measured would end the run."""

    def outage(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.messages[-1].content == "q0" else look_up(request)

    bench = open_bench(
        optimizer=NO_IDEAS,
        target=outage,
        skill=f"{rule(1)}\n",
        settings={**UNSOLVED, "train.num_epochs": 4, "evaluation.max_unmeasured": 0.5},
    )
    await train(bench)
    assert batches(bench.directory)[0]["t0"] is None
    assert [sorted(batch) for batch in batches(bench.directory)[1:]] == [["t2", "t3"]] * 3
    assert [(one["train_known_solved"], one["train_known_n"]) for one in bench.history[1:]] == [(1, 3)] * 4


async def test_each_step_of_each_seed_has_an_order_of_its_own(open_bench: OpenBench) -> None:
    """Nothing is ever solved here, so every task may come in any step."""
    drawn: list[tuple[str, ...]] = []
    for seed in (1, 2):
        bench: Bench = open_bench(
            optimizer=NO_IDEAS,
            splits={"train": range(20, 40)},
            settings={**UNSOLVED, "train.num_epochs": 1, "train.batch_size": 5, "train.seed": seed},
        )
        await train(bench)
        drawn += [tuple(batch) for batch in batches(bench.directory)]
    assert len(set(drawn)) == len(drawn) == 8
    assert len(set().union(*drawn[:4])) < 20
