"""The training loop, whole: how runs end, what the settings change, and that a run is a function of its replies."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import Bench, OpenBench, appends, by_stage, look_up, rule, text_of
from tests.support.runs import SMALL, read_json, views, write_run

from skillopt.api import train as train_from
from skillopt.config.describe import settings as schema_settings
from skillopt.config.schema import Config
from skillopt.config.tracker_settings import TrackerSettings
from skillopt.errors import FatalModelError, MeasurementError, TransientModelError
from skillopt.events import StageProgress
from skillopt.models.base import ChatRequest
from skillopt.run.outcome import EndState
from skillopt.simulation.optimizer import SimulatedOptimizer
from skillopt.simulation.scripted import Said
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.target import SimulatedTarget
from skillopt.simulation.weather import Call, Fault
from skillopt.trainer import train

ROOT = Path(__file__).parents[1]
ONE_EPOCH = {"train.num_epochs": 1}
HELPFUL = by_stage(reflect=appends(rule(4)))
"""An optimizer that knows the answer of one selection task."""
USELESS = by_stage(reflect=appends("Be brief."))


def column(bench: Bench, name: str) -> list[Any]:
    """A value of every step's record, without the baseline's."""
    return [record[name] for record in bench.history[1:]]


def asked_at(bench: Bench, stage: str) -> list[str]:
    """The questions the target was asked at a stage."""
    return [one.messages[-1].content for one in bench.target.requests if one.place.stage == stage]


def lucky(*draws: tuple[str, int], line: str = "") -> Callable[[ChatRequest], Said]:
    """A target that looks up its skill, and with a line in it solves the named questions on the named draws besides."""

    def script(request: ChatRequest) -> Said:
        question = request.messages[-1].content
        if line in text_of(request) and (question, request.place.attempt) in draws:
            return question.replace("q", "a")
        return look_up(request)

    return script


# How a run ends


async def test_a_candidate_that_wins_is_the_best_skill_and_is_proven_on_held_out_tasks(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=by_stage(reflect=appends(rule(4), rule(8))), settings=ONE_EPOCH)
    outcome = await train(bench)
    assert (outcome.state, outcome.state.exit_code) == (EndState.IMPROVED, 0)
    assert outcome.best_skill.text == f"{rule(4)}\n\n{rule(8)}\n"
    assert column(bench, "action") == ["accept_new_best"]
    assert column(bench, "val_acc") == [0.25]
    assert (outcome.summary["baseline_test_hard"], outcome.summary["test_hard"]) == (0.0, 0.5)
    assert (bench.directory / "best_skill.md").read_text("utf-8") == outcome.best_skill.text


async def test_edits_that_lose_end_as_all_rejected(open_bench: OpenBench) -> None:
    """F10."""
    bench = open_bench(optimizer=USELESS, settings={"train.num_epochs": 2})
    outcome = await train(bench)
    assert (outcome.state, outcome.best_skill.text) == (EndState.ALL_REJECTED, "")
    assert column(bench, "action") == ["reject", "skip_repeated"]


async def test_a_rule_that_helps_training_and_hurts_selection_is_rejected_and_stays_visible(
    open_bench: OpenBench,
) -> None:
    """F28: the held-out split decides, and the edit that lost can be read with the gate's reason."""
    surface = {"edits": [{"op": "replace", "target": rule(4), "content": "\n".join(rule(n) for n in range(4))}]}
    bench = open_bench(optimizer=by_stage(reflect=surface), skill=f"{rule(4)}\n", settings=ONE_EPOCH)
    outcome = await train(bench)
    assert (outcome.state, outcome.best_skill.text) == (EndState.ALL_REJECTED, f"{rule(4)}\n")
    (record,) = bench.history[1:]
    assert (record["action"], record["sign_test"]["better"]) == ("reject", 0)
    candidate = bench.directory / "steps" / "step_0001" / "candidate_skill.md"
    assert rule(0) in candidate.read_text("utf-8")


async def test_an_optimizer_without_ideas_ends_as_no_candidates(open_bench: OpenBench) -> None:
    """F10."""
    bench = open_bench(optimizer=by_stage(reflect={"edits": []}), settings=ONE_EPOCH)
    outcome = await train(bench)
    assert outcome.state is EndState.NO_CANDIDATES
    assert column(bench, "action") == ["skip_no_patches"]
    assert asked_at(bench, "gate") == []


async def test_a_skill_that_can_never_change_is_no_success(open_bench: OpenBench) -> None:
    """F20, F77: every edit misses its target, in the repair too; nothing is measured twice for it."""
    lost = {"edits": [{"op": "replace", "target": "not there", "content": "x"}]}
    bench = open_bench(optimizer=by_stage(reflect=lost, update=lost), skill="# Skill\n", settings=ONE_EPOCH)
    outcome = await train(bench)
    assert outcome.state is EndState.NO_CANDIDATES
    assert "which edits found no target" in outcome.message
    assert column(bench, "action") == ["skip_no_change"]
    assert [edits["unmatched"] for edits in column(bench, "edits")] == [1]
    assert asked_at(bench, "gate") == []


async def test_a_perfect_seed_ends_as_saturated_and_asks_the_optimizer_nothing(open_bench: OpenBench) -> None:
    """F131."""
    bench = open_bench(skill="\n".join(rule(number) for number in range(4, 8)))
    outcome = await train(bench)
    assert outcome.state is EndState.SATURATED
    assert len(bench.history) == 1
    assert bench.optimizer.requests == []


async def test_training_stops_when_nothing_can_be_strictly_higher(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=by_stage(reflect=appends(*(rule(number) for number in range(4, 8)))))
    outcome = await train(bench)
    assert outcome.state is EndState.IMPROVED
    assert column(bench, "val_acc") == [1.0]


async def test_a_target_that_fails_in_the_middle_ends_as_provider_failed(tmp_path: Path) -> None:
    """F2, F10: no score is made of it, what was measured stands, and the provider's words are the message."""

    def outage(call: Call) -> Fault | None:
        return Fault("status", 503, "no capacity left") if call.model == "target" and call.number >= 8 else None

    async with SimulatedServer(SMALL, weather=outage) as server:
        outcome = await train_from(write_run(tmp_path, server=server))
    assert outcome.state is EndState.PROVIDER_FAILED
    assert "rollout: 1 of 4 tasks could not be measured" in outcome.message
    assert "no capacity left" in outcome.message
    assert [record["step"] for record in read_json(tmp_path / "run" / "history.json")] == [0]
    assert outcome.summary["test_hard"] is None
    codes = {state.exit_code for state in EndState}
    assert len(codes) == len(EndState)


async def test_an_outage_at_the_gate_is_no_rejection(open_bench: OpenBench) -> None:
    """F9."""

    def script(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.place.stage == "gate" else look_up(request)

    bench = open_bench(optimizer=HELPFUL, target=script, settings=ONE_EPOCH)
    with pytest.raises(MeasurementError, match="gate: 1 of 4 tasks could not be measured"):
        await train(bench)
    assert len(bench.history) == 1


async def test_a_wrong_key_ends_the_run_before_it_begins(open_bench: OpenBench) -> None:
    """F2."""
    bench = open_bench(target=lambda _: FatalModelError("invalid key", status=401), settings={"env.workers": 1})
    with pytest.raises(FatalModelError, match="invalid key"):
        await train(bench)
    assert len(bench.target.requests) == 1


async def test_the_baseline_needs_every_task_and_the_next_start_asks_again(
    open_bench: OpenBench, tmp_path: Path
) -> None:
    """F14: the cause is mended, the same command is given again, and only the missing task is paid."""

    def script(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.messages[-1].content == "q7" else look_up(request)

    settings = {**ONE_EPOCH, "evaluation.max_unmeasured": 0.5}
    evidence = tmp_path / "evidence.sqlite"
    with pytest.raises(MeasurementError, match="baseline: 1 of 4 tasks could not be measured, none may be missing"):
        await train(open_bench(target=script, settings=settings, evidence=evidence))
    mended = open_bench(optimizer=USELESS, settings=settings, evidence=evidence)
    await train(mended)
    assert asked_at(mended, "baseline") == ["q7"]


# A run is a function of its replies


async def test_the_order_in_which_replies_come_makes_no_difference(tmp_path: Path) -> None:
    """More 14, F130: history and skills are byte for byte the same, timing aside."""
    answered: list[int] = []

    async def overtaking(call: Call) -> None:
        for _ in range(40 - 7 * call.number % 40):
            await asyncio.sleep(0)
        answered.append(call.number)

    async def shown(name: str, **settings: Any) -> dict[str, Any]:
        optimizer = SimulatedOptimizer(SMALL, harmful=0.2, malformed=0.2)
        target = SimulatedTarget(SMALL, noise=0.1)
        async with SimulatedServer(SMALL, target=target, optimizer=optimizer, **settings) as server:
            await train_from(write_run(tmp_path / name, server=server, settings=ONE_EPOCH))
        files = views(tmp_path / name / "run")
        for named in ("summary.json", "run_card.json", "split_manifest.json"):
            del files[named]  # They name the server's address and the data's path.
        return files

    in_order = await shown("in_order")
    assert await shown("shuffled", delay=overtaking) == in_order
    assert answered != sorted(answered)
    assert any(file.startswith("steps/step_0002/patches/") for file in in_order)


async def test_a_second_start_replays_without_a_paid_call(tmp_path: Path) -> None:
    """F82, F130: and writes the same bytes."""
    async with SimulatedServer(SMALL) as server:
        config = write_run(tmp_path, server=server, settings=ONE_EPOCH)
        first = await train_from(config)
        paid, before = len(server.calls), views(tmp_path / "run")
        again = await train_from(config)
        assert len(server.calls) == paid
    assert again == first
    assert views(tmp_path / "run") == before


@pytest.mark.parametrize("lost", ["", "q9"])
async def test_an_unchanged_skill_is_measured_once_on_the_test_split(open_bench: OpenBench, lost: str) -> None:
    """More 17: nor is what could not be measured for it."""

    def script(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.messages[-1].content == lost else look_up(request)

    settings = {**ONE_EPOCH, "evaluation.max_unmeasured": 0.5}
    bench = open_bench(optimizer=USELESS, target=script, settings=settings)
    outcome = await train(bench)
    assert asked_at(bench, "test") == ["q8", "q9"]
    assert outcome.summary["test"]["seed"] == outcome.summary["test"]["best"]
    assert outcome.summary["test"]["seed"]["unmeasured"] == bool(lost)


async def test_both_skills_are_tested_side_by_side(open_bench: OpenBench) -> None:
    """An idle target is a design fault: each skill's first task waits here for the other's."""
    both = asyncio.Barrier(2)

    async def script(request: ChatRequest) -> Said:
        if request.place.stage == "test":
            await both.wait()
        return look_up(request)

    bench = open_bench(optimizer=HELPFUL, target=script, settings={**ONE_EPOCH, "env.workers": 1})
    async with asyncio.timeout(20):
        await train(bench)
    told = [event for event in bench.events if isinstance(event, StageProgress) and event.stage == "test"]
    assert [(event.done, event.total) for event in told] == [(number, 4) for number in range(1, 5)]


async def test_what_the_final_test_went_without_is_tried_by_the_next_start(
    open_bench: OpenBench, tmp_path: Path
) -> None:
    """F14: nothing is decided on it, so it need not stay missing for ever."""

    def script(request: ChatRequest) -> Said:
        down = request.place.stage == "test" and request.messages[-1].content == "q9"
        return TransientModelError("down") if down else look_up(request)

    settings, evidence = {**ONE_EPOCH, "evaluation.max_unmeasured": 0.5}, tmp_path / "evidence.sqlite"
    first = await train(open_bench(optimizer=HELPFUL, target=script, settings=settings, evidence=evidence))
    assert [first.summary["test"][skill]["unmeasured"] for skill in ("seed", "best")] == [1, 1]
    mended = open_bench(optimizer=(), settings=settings, evidence=evidence)
    again = await train(mended)
    assert asked_at(mended, "test") == ["q9", "q9"]
    assert [again.summary["test"][skill]["unmeasured"] for skill in ("seed", "best")] == [0, 0]
    assert len(mended.target.requests) == 2


async def test_the_same_skill_on_the_same_task_is_never_paid_twice(open_bench: OpenBench) -> None:
    """Over epochs, at the gate, and when a rejected candidate comes back."""
    bench = open_bench(optimizer=USELESS, settings={"train.num_epochs": 3})
    await train(bench)
    assert column(bench, "action") == ["reject", "skip_repeated", "skip_repeated"]
    asked = [(one.messages[0].content, one.messages[-1].content) for one in bench.target.requests]
    assert len(asked) == len(set(asked))


async def test_rejected_edits_are_shown_to_the_next_reflection(open_bench: OpenBench) -> None:
    """F89, F90."""
    bench = open_bench(optimizer=USELESS, settings={"train.num_epochs": 2})
    await train(bench)
    first, second = (one.messages[1].content for one in bench.optimizer.requests if one.place.stage == "reflect")
    assert "Be brief." not in first
    assert "Be brief." in second
    assert "at most 0.0% was still possible, not above 0.0%" in second or "not strictly higher" in second


@pytest.mark.parametrize(
    ("memory", "shown"),
    [("run", [0, 1, 1, 1]), ("epoch", [0, 1, 0, 1]), ("off", [0, 0, 0, 0])],
)
async def test_the_rejection_memory_reaches_as_far_as_it_is_set(
    open_bench: OpenBench, memory: str, shown: list[int]
) -> None:
    """rejection_memory, over two epochs of two steps: what the reflections see of the edit that lost."""
    settings = {"train.num_epochs": 2, "train.batch_size": 2, "optimizer.rejection_memory": memory}
    bench = open_bench(optimizer=USELESS, settings=settings)
    await train(bench)
    reflections = {one.place.step: one for one in bench.optimizer.requests if one.place.stage == "reflect"}
    assert [int("Be brief." in reflections[step].messages[1].content) for step in sorted(reflections)] == shown
    tried_again = column(bench, "action").count("reject")
    assert tried_again == {"run": 1, "epoch": 2, "off": 4}[memory]


async def test_a_bundle_that_lost_is_not_tried_again_until_the_skill_has_changed(open_bench: OpenBench) -> None:
    """F89: nor after a restart, since the memory is made of the same evidence."""
    proposals = {
        1: [{"op": "append", "content": "Be brief."}],
        2: [{"op": "append", "content": "be  BRIEF."}],
        3: [{"op": "append", "content": "Be brief."}, {"op": "append", "content": rule(4)}],
        4: [{"op": "append", "content": "Be clear."}],
    }
    script = by_stage(reflect=lambda request: {"edits": proposals[request.place.epoch]})
    bench = open_bench(optimizer=script)
    await train(bench)
    assert column(bench, "action") == ["reject", "skip_repeated", "accept_new_best", "reject"]
    second, third = bench.history[2:4]
    assert second["counters"]["repeated_bundles"] == 1
    assert second["reason"].startswith("the same edits lost on the same skill in step 1: ")
    assert third["candidate_val_acc"] == 0.25
    changed = open_bench(
        optimizer=by_stage(reflect=lambda request: {"edits": proposals[(3, 4, 4, 4)[request.place.epoch - 1]]})
    )
    await train(changed)
    assert column(changed, "action") == ["accept_new_best", "reject", "skip_repeated", "skip_repeated"]


async def test_a_rejection_is_on_record_with_its_margin_and_what_it_broke(open_bench: OpenBench) -> None:
    """The ids stand in the record; no prompt of the optimizer holds them."""
    worse = {"edits": [{"op": "delete", "target": rule(4)}, {"op": "delete", "target": rule(5)}]}
    script = by_stage(reflect=lambda request: worse if request.place.epoch == 1 else appends("Be brief."))
    seed = "\n".join(rule(number) for number in (4, 5, 6)) + "\n"
    bench = open_bench(optimizer=script, skill=seed, settings={"train.num_epochs": 2})
    await train(bench)
    first, _ = bench.history[1:]
    assert (first["action"], first["lost_by"]) == ("reject", 0.5)
    assert sorted(first["broken"]) == ["t4", "t5"]
    prompts = [text_of(request) for request in bench.optimizer.requests]
    assert any("2 tasks got worse" in text for text in prompts)
    assert not any(name in text for text in prompts for name in ("t4", "t5", "t6", "t7"))


@pytest.mark.parametrize(("redraw", "drawn"), [(0, 1), (1, 2), (3, 4)])
async def test_a_rejected_step_draws_again_from_the_same_trajectories(
    open_bench: OpenBench, redraw: int, drawn: int
) -> None:
    """optimizer.redraw: with what was lost before its eyes, no new rollouts, and a place of its own for each call."""
    tries = iter(range(9))
    script = by_stage(reflect=lambda _: appends(f"Useless thought {next(tries)}."))
    bench = open_bench(optimizer=script, settings={**ONE_EPOCH, "optimizer.redraw": redraw})
    await train(bench)
    asked = [request for request in bench.optimizer.requests if request.place.stage == "reflect"]
    assert len(asked) == len({request.place for request in asked}) == drawn
    for number, request in enumerate(asked):
        assert text_of(request).count("Useless thought") == number
    assert len(asked_at(bench, "rollout")) == 4
    (record,) = bench.history[1:]
    assert record["action"] == "reject"
    assert [lost["action"] for lost in record["redraws"]] == ["reject"] * (drawn - 1)
    assert len({record["candidate_hash"], *(lost["candidate_hash"] for lost in record["redraws"])}) == drawn
    directory = bench.directory / "steps" / "step_0001"
    shown = sorted(path.parent.name for path in directory.glob("draw_*/candidate_skill.md"))
    assert shown == [f"draw_{number:02d}" for number in range(1, drawn)]


async def test_a_redraw_that_wins_ends_the_step_and_replays(open_bench: OpenBench, tmp_path: Path) -> None:
    tries = iter(["Useless.", rule(4), "never asked"])
    settings = {**ONE_EPOCH, "optimizer.redraw": 5}
    evidence = tmp_path / "evidence.sqlite"
    script = by_stage(reflect=lambda _: appends(next(tries)))
    bench = open_bench(optimizer=script, settings=settings, evidence=evidence)
    outcome = await train(bench)
    (record,) = bench.history[1:]
    assert (record["action"], len(record["redraws"])) == ("accept_new_best", 1)
    assert outcome.best_skill.text == f"{rule(4)}\n"
    history = bench.history
    again = open_bench(optimizer=(), target=(), settings=settings, evidence=evidence)
    assert (await train(again)).best_skill == outcome.best_skill
    assert again.history == history


async def test_only_a_rejection_is_drawn_again(open_bench: OpenBench) -> None:
    for edits, action in ({"edits": []}, "skip_no_patches"), (appends(rule(4)), "accept_new_best"):
        bench = open_bench(optimizer=by_stage(reflect=edits), settings={**ONE_EPOCH, "optimizer.redraw": 3})
        await train(bench)
        assert column(bench, "action") == [action]
        assert column(bench, "redraws") == [[]]


async def test_rejections_of_lost_draws_count_for_how_the_run_ended(open_bench: OpenBench) -> None:
    """F10: a candidate was made and lost, though the last draw proposed nothing."""
    tries = iter([appends("Useless."), {"edits": []}])
    bench = open_bench(optimizer=by_stage(reflect=lambda _: next(tries)), settings={**ONE_EPOCH, "optimizer.redraw": 3})
    assert (await train(bench)).state is EndState.ALL_REJECTED
    assert column(bench, "action") == ["skip_no_patches"]


SCHEDULERS, METRICS = ("constant", "linear", "cosine"), ("hard", "soft", "mixed")
EXTRAS: list[dict[str, Any]] = [{}, {"gradient.failure_only": True}, {"evaluation.use_gate": False}]


@pytest.mark.parametrize(
    ("scheduler", "metric", "extra"),
    [
        (scheduler, metric, EXTRAS[(row + column) % 3])
        for row, scheduler in enumerate(SCHEDULERS)
        for column, metric in enumerate(METRICS)
    ],
)
async def test_every_mode_trains_a_step(
    open_bench: OpenBench, scheduler: str, metric: str, extra: dict[str, Any]
) -> None:
    """F35, F55: in a real run, and not by a unit test alone; every pair of two modes comes up."""
    settings = {"optimizer.lr_scheduler": scheduler, "evaluation.gate_metric": metric, **ONE_EPOCH, **extra}
    small = {"train": range(2), "val": [4, 5], "test": [8]}
    bench = open_bench(optimizer=HELPFUL, settings=settings, splits=small)
    assert (await train(bench)).state is EndState.IMPROVED
    assert column(bench, "val_acc") == [0.5]


# What the settings change


async def test_epochs_and_batches_make_the_steps(open_bench: OpenBench) -> None:
    settings = {"train.num_epochs": 2, "train.batch_size": 3}
    bench = open_bench(optimizer=by_stage(reflect={"edits": []}), settings=settings)
    await train(bench)
    places = [(record["epoch"], record["step"], record["rollout_n"]) for record in bench.history[1:]]
    assert places == [(1, 1, 3), (1, 2, 1), (2, 3, 3), (2, 4, 1)]


async def test_train_size_takes_the_first_tasks(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=by_stage(reflect={"edits": []}), settings={**ONE_EPOCH, "train.train_size": 2})
    await train(bench)
    assert sorted(asked_at(bench, "rollout")) == ["q0", "q1"]


async def test_the_seed_decides_the_batches(open_bench: OpenBench) -> None:
    async def first_batch(seed: int) -> list[str]:
        settings = {**ONE_EPOCH, "train.batch_size": 2, "train.seed": seed}
        bench = open_bench(optimizer=by_stage(reflect={"edits": []}), settings=settings)
        await train(bench)
        return asked_at(bench, "rollout")[:2]

    assert await first_batch(1) == await first_batch(1)
    assert len({tuple(await first_batch(seed)) for seed in range(4)}) > 1


@pytest.mark.parametrize(
    ("scheduler", "minimum", "budgets"),
    [
        ("constant", 2, [8, 8, 8, 8]),
        ("linear", 2, [6, 5, 4, 2]),
        ("cosine", 2, [7, 5, 3, 2]),
        ("linear", 0, [6, 4, 2, 0]),
    ],
)
async def test_the_edit_budget_follows_its_schedule(
    open_bench: OpenBench, scheduler: str, minimum: int, budgets: list[int]
) -> None:
    """More 7, F68: over the steps of the whole run, those without a candidate too."""
    settings = {
        "train.num_epochs": 2,
        "train.batch_size": 2,
        "optimizer.learning_rate": 8,
        "optimizer.min_learning_rate": minimum,
        "optimizer.lr_scheduler": scheduler,
    }
    bench = open_bench(optimizer=by_stage(reflect={"edits": []}), settings=settings)
    await train(bench)
    assert column(bench, "edit_budget") == budgets


async def test_no_more_edits_than_the_learning_rate_are_applied(open_bench: OpenBench) -> None:
    """F67: two failing minibatches propose two edits each under a learning rate of two."""
    replies = by_stage(
        reflect=lambda request: appends(*(f"Rule {request.place.index} of {n}." for n in ("one", "two", "three"))),
        aggregate={"edits": [{"op": "append", "content": f"Merged {n}."} for n in ("one", "two", "three")]},
        select={"selected_indices": [2, 0, 1]},
    )
    settings = {**ONE_EPOCH, "gradient.minibatch_size": 2, "optimizer.learning_rate": 2}
    bench = open_bench(optimizer=replies, settings=settings)
    await train(bench)
    (edits,) = column(bench, "edits")
    assert (edits["applied"], edits["over_budget"]) == (2, 3)
    candidate = (bench.directory / "steps" / "step_0001" / "candidate_skill.md").read_text("utf-8")
    assert candidate == "Merged three.\n\nMerged one.\n"


async def test_a_learning_rate_of_zero_applies_nothing(open_bench: OpenBench) -> None:
    """More 9."""
    settings = {**ONE_EPOCH, "optimizer.learning_rate": 0, "optimizer.min_learning_rate": 0}
    bench = open_bench(settings=settings)
    outcome = await train(bench)
    assert (outcome.state, outcome.best_skill.text) == (EndState.NO_CANDIDATES, "")
    assert column(bench, "edit_budget") == [0]
    assert bench.optimizer.requests == []


async def test_without_a_gate_training_goes_on_with_what_scored_lower(open_bench: OpenBench) -> None:
    """The score is recorded all the same, and the best skill stays the best."""
    worse = by_stage(reflect={"edits": [{"op": "delete", "target": rule(4)}]})
    settings = {**ONE_EPOCH, "evaluation.use_gate": False}
    bench = open_bench(optimizer=worse, skill=f"{rule(4)}\n", settings=settings)
    outcome = await train(bench)
    (record,) = bench.history[1:]
    assert (record["action"], record["val_acc"], record["best_score"]) == ("force_accept", 0.0, 0.25)
    assert outcome.best_skill.text == f"{rule(4)}\n"


@pytest.mark.parametrize(
    ("metric", "weight", "action"),
    [
        ("hard", 0.5, "reject"),
        ("soft", 0.5, "accept_new_best"),
        ("mixed", 0.5, "accept_new_best"),
        ("mixed", 0.0, "reject"),
    ],
)
async def test_the_gate_metric_decides_what_partial_credit_is_worth(
    open_bench: OpenBench, metric: str, weight: float, action: str
) -> None:
    """F17: the answer `a4 or so` is half right."""
    gate = {"evaluation.gate_metric": metric, "evaluation.gate_mixed_weight": weight}
    settings = {**ONE_EPOCH, **gate, "env.scorer": "f1"}
    bench = open_bench(optimizer=by_stage(reflect=appends(rule(4, "a4 or so"))), settings=settings)
    await train(bench)
    assert column(bench, "action") == [action]


@pytest.mark.parametrize(("block", "paid"), [(2, ["q6", "q7"]), (3, ["q6", "q7", "q4"])])
async def test_the_gate_looks_after_each_block(open_bench: OpenBench, block: int, paid: list[str]) -> None:
    settings = {**ONE_EPOCH, "evaluation.gate_block": block}
    bench = open_bench(optimizer=USELESS, skill=f"{rule(4)}\n{rule(5)}\n", settings=settings)
    await train(bench)
    assert asked_at(bench, "gate") == paid
    (record,) = bench.history[1:]
    assert (record["candidate_val_acc"], record["candidate_val_acc_upper_bound"]) == (None, (4 - 2) / 4)


async def test_each_selection_task_is_done_as_often_as_asked(open_bench: OpenBench) -> None:
    """F18, F23, F37: `repeats` passes for the seed and for the candidate, reported with mean, spread and n."""
    settings = {**ONE_EPOCH, "evaluation.repeats": 2}
    bench = open_bench(optimizer=HELPFUL, target=lucky(("q5", 1)), settings=settings)
    outcome = await train(bench)
    assert (len(asked_at(bench, "baseline")), len(asked_at(bench, "gate"))) == (8, 8)
    baseline, step = bench.history
    assert baseline["val_passes"] == {
        "n": 2,
        "mean": 0.125,
        "spread": pytest.approx(0.25 / 2**0.5),
        "scores": [0.0, 0.25],
    }
    assert step["val_passes"] == step["candidate_passes"]
    assert (step["candidate_passes"]["scores"], step["val_solved"], step["val_n"]) == ([0.25, 0.5], 3, 8)
    assert outcome.summary["selection_passes"] == {"seed": baseline["val_passes"], "best": step["val_passes"]}
    assert len(asked_at(bench, "rollout")) == 4


@pytest.mark.parametrize("remeasure", [False, True])
async def test_an_accepted_skill_is_measured_again_and_the_fresh_score_is_the_bar(
    open_bench: OpenBench, remeasure: bool
) -> None:
    """F37: the first candidate wins three tasks by luck; only with `remeasure` can the second, a real gain, win."""
    rules = appends(rule(4))
    replies = by_stage(reflect=lambda request: appends("Be brief.") if request.place.epoch == 1 else rules)
    settings = {"train.num_epochs": 2, "evaluation.remeasure": remeasure}
    target = lucky(("q5", 0), ("q6", 0), ("q7", 0), line="Be brief.")
    bench = open_bench(optimizer=replies, target=target, settings=settings)
    outcome = await train(bench)
    first, second = bench.history[1:]
    assert first["candidate_gate_score"] == 0.75
    if remeasure:
        assert (first["action"], first["candidate_remeasured_score"], first["current_score"]) == ("accept", 0.0, 0.0)
        assert (second["action"], second["candidate_remeasured_score"]) == ("accept_new_best", 0.25)
        assert outcome.summary["best_gate_score"] == 0.25
        again = bench.directory / "steps" / "step_0001" / "selection_eval_again" / "results.json"
        assert [row["repeat"] for row in read_json(again)] == [1] * 4
    else:
        assert (first["candidate_remeasured_score"], first["current_score"]) == (None, 0.75)
        assert outcome.summary["best_gate_score"] == 1.0


@pytest.mark.parametrize(("settings", "action"), [({}, "accept_new_best"), ({"confidence": 0.9}, "reject")])
async def test_a_confidence_keeps_out_a_gain_that_may_be_luck(
    open_bench: OpenBench, settings: dict[str, Any], action: str
) -> None:
    """F19: one task better and none worse happens to an edit that changes nothing every other time."""
    values = {**ONE_EPOCH, **{f"evaluation.{key}": value for key, value in settings.items()}}
    bench = open_bench(optimizer=HELPFUL, settings=values)
    await train(bench)
    assert column(bench, "action") == [action]
    assert ("p = 0.5 in the sign test" in column(bench, "reason")[0]) == bool(settings)


@pytest.mark.parametrize(("settings", "action"), [({}, "accept_new_best"), ({"max_regressions": 0}, "reject")])
async def test_a_gain_that_breaks_solved_tasks_can_be_refused(
    open_bench: OpenBench, settings: dict[str, Any], action: str
) -> None:
    """F24, `max_regressions`: two tasks are won and one is lost."""
    trade = {"edits": [{"op": "replace", "target": rule(4), "content": f"{rule(5)}\n{rule(6)}"}]}
    values = {**ONE_EPOCH, **{f"evaluation.{key}": value for key, value in settings.items()}}
    bench = open_bench(optimizer=by_stage(reflect=trade), skill=f"{rule(4)}\n", settings=values)
    await train(bench)
    assert column(bench, "action") == [action]
    assert ("1 solved task broke (t4)" in column(bench, "reason")[0]) == bool(settings)


@pytest.mark.parametrize(
    ("patience", "steps", "state"),
    [(0, 6, EndState.IMPROVED), (2, 4, EndState.IMPROVED), (1, 1, EndState.ALL_REJECTED)],
)
async def test_patience_ends_a_training_that_accepts_nothing(
    open_bench: OpenBench, patience: int, steps: int, state: EndState
) -> None:
    """Only the second of six steps is accepted; the reason is in the summary, and the end state falls as it does."""
    replies = by_stage(
        reflect=lambda request: appends(rule(4) if request.place.epoch == 2 else f"Note {request.place.epoch}.")
    )
    settings = {"train.num_epochs": 6, "evaluation.patience": patience}
    bench = open_bench(optimizer=replies, settings=settings)
    outcome = await train(bench)
    assert (len(bench.history) - 1, outcome.state) == (steps, state)
    told = outcome.summary["stopped_early"]
    assert (told is None) if not patience else told.endswith("without an accepted candidate (evaluation.patience)")
    assert len(asked_at(bench, "test")) == (4 if state is EndState.IMPROVED else 2)


def lucky_at_the_gate(request: ChatRequest) -> Said:
    """A target that solves three selection tasks by luck, on the gate's draw and with a useless line alone."""
    skill, question = text_of(request), request.messages[-1].content
    if "Be brief." in skill and rule(4) not in skill and request.place.attempt == 0 and question in ("q5", "q6", "q7"):
        return question.replace("q", "a")
    return look_up(request)


def in_five_steps(request: ChatRequest) -> dict[str, Any]:
    """The first step proposes the useless line, the third two real rules, the others notes that change nothing."""
    step = request.place.step
    return appends("Be brief.") if step == 1 else appends(rule(4), rule(5)) if step == 3 else appends(f"Note {step}.")


@pytest.mark.parametrize("most", [0, 5])
async def test_the_best_skill_can_be_chosen_again_among_all_that_were_measured(
    open_bench: OpenBench, most: int
) -> None:
    """F40, `reselect`: five stored candidates, and the true best is one that the gate rejected."""
    settings = {"train.num_epochs": 5, "evaluation.reselect": most}
    bench = open_bench(optimizer=by_stage(reflect=in_five_steps), target=lucky_at_the_gate, settings=settings)
    outcome = await train(bench)
    assert column(bench, "action") == ["accept_new_best", "reject", "reject", "reject", "reject"]
    assert outcome.state is EndState.IMPROVED
    assert (bench.directory / "best_skill.md").read_text("utf-8") == outcome.best_skill.text
    stages = [request.place.stage for request in bench.target.requests]
    if most:
        assert (outcome.summary["best_step"], rule(4) in outcome.best_skill.text) == (3, True)
        told = outcome.summary["final"]["finalists"]
        assert [(one["step"], one["gate_score"], one["fresh_score"]) for one in told] == [
            (1, 0.75, 0.0), (2, 0.75, 0.0), (4, 0.75, 0.0), (5, 0.75, 0.0), (3, 0.5, 0.5),
        ]  # fmt: skip
        assert stages.index("test") > max(number for number, stage in enumerate(stages) if stage == "final")
    else:
        assert (outcome.summary["best_step"], outcome.summary["final"]) == (1, None)
        assert "final" not in stages


async def test_the_reported_score_of_the_best_skill_can_be_a_fresh_one(open_bench: OpenBench) -> None:
    """F37, `final_repeats`: beside what it had at the gate, by luck."""
    settings = {**ONE_EPOCH, "evaluation.final_repeats": 2}
    bench = open_bench(optimizer=by_stage(reflect=in_five_steps), target=lucky_at_the_gate, settings=settings)
    outcome = await train(bench)
    summary = outcome.summary
    assert (summary["best_gate_score"], summary["best_selection_hard"]) == (0.75, 0.0)
    assert (outcome.state, outcome.best_skill.text) == (EndState.NOT_CONFIRMED, "Be brief.\n")
    assert summary["final"]["seed_passes"] == summary["final"]["passes"]
    assert (summary["selection"]["seed"]["measured"], summary["selection_delta_hard"]) == (8, 0.0)
    baseline = read_json(bench.directory / "selection_eval_final_baseline" / "results.json")
    assert [row["repeat"] for row in baseline] == [1] * 4 + [2] * 4
    assert summary["final"]["passes"] == {"n": 2, "mean": 0.0, "spread": 0.0, "scores": [0.0, 0.0]}
    assert (summary["selection"]["best"]["solved"], summary["selection"]["best"]["measured"]) == (0, 8)
    rows = read_json(bench.directory / "selection_eval_final" / "results.json")
    assert [row["repeat"] for row in rows] == [1] * 4 + [2] * 4
    assert len(asked_at(bench, "test")) == 4


async def test_every_choice_is_made_again_by_a_replay_without_a_paid_call(tmp_path: Path) -> None:
    """F82: repeats, fresh scores, the final choice and the final number are in the evidence like everything else."""
    settings = {
        **ONE_EPOCH,
        "evaluation.repeats": 2,
        "evaluation.remeasure": True,
        "evaluation.final_repeats": 2,
        "evaluation.reselect": 3,
    }
    async with SimulatedServer(SMALL, target=SimulatedTarget(SMALL, noise=0.2)) as server:
        config = write_run(tmp_path, server=server, settings=settings)
        first = await train_from(config)
        paid, before = len(server.calls), views(tmp_path / "run")
        again = await train_from(config)
        assert len(server.calls) == paid
    assert again == first
    assert views(tmp_path / "run") == before


@pytest.mark.parametrize("own", [False, True])
async def test_an_acceptance_rule_of_the_users_own_decides(open_bench: OpenBench, own: bool) -> None:
    """F38: ties are accepted if shorter, also at the highest score, where the strict rule trains no further."""
    useless = "A sentence that helps nobody."
    replies = by_stage(reflect={"edits": [{"op": "delete", "target": useless}]})
    rules = "\n".join(rule(number) for number in range(4, 8))
    example = ROOT / "examples" / "acceptance" / "shorter.py"
    settings = {**ONE_EPOCH, **({"evaluation.acceptance": f"{example}:shorter"} if own else {})}
    bench = open_bench(optimizer=replies, skill=f"{useless}\n\n{rules}\n", settings=settings)
    outcome = await train(bench)
    if own:
        assert column(bench, "action") == ["accept_new_best"]
        assert (outcome.state, useless in outcome.best_skill.text) == (EndState.IMPROVED, False)
        assert (bench.directory / "best_skill.md").read_text("utf-8") == outcome.best_skill.text
    else:
        assert (outcome.state, len(bench.history)) == (EndState.SATURATED, 1)


async def test_only_so_many_selection_and_test_tasks_are_used(open_bench: OpenBench) -> None:
    settings = {**ONE_EPOCH, "evaluation.sel_env_num": 2, "evaluation.test_env_num": 1}
    bench = open_bench(optimizer=USELESS, settings=settings)
    await train(bench)
    assert (asked_at(bench, "baseline"), asked_at(bench, "test")) == (["q4", "q5"], ["q8"])


async def test_the_final_test_can_be_left_out(open_bench: OpenBench) -> None:
    bench = open_bench(optimizer=HELPFUL, settings={**ONE_EPOCH, "evaluation.eval_test": False})
    outcome = await train(bench)
    assert outcome.state is EndState.IMPROVED
    assert (asked_at(bench, "test"), outcome.summary["test_hard"]) == ([], None)


@pytest.mark.parametrize("share", [0.0, 0.25])
async def test_how_much_may_be_missing_is_a_setting(open_bench: OpenBench, share: float) -> None:
    """F1: one of four training tasks is lost; it enters no mean, and a smaller share ends the run."""

    def script(request: ChatRequest) -> Said:
        return TransientModelError("down") if request.messages[-1].content == "q2" else look_up(request)

    settings = {**ONE_EPOCH, "evaluation.max_unmeasured": share}
    bench = open_bench(optimizer=USELESS, target=script, skill=rule(3), settings=settings)
    if share:
        await train(bench)
        (record,) = bench.history[1:]
        assert (record["train_acc"], record["rollout_n"], record["rollout_unmeasured"]) == (1 / 3, 3, 1)
    else:
        with pytest.raises(MeasurementError, match="rollout: 1 of 4"):
            await train(bench)


async def test_no_more_tasks_are_under_way_than_there_are_workers(open_bench: OpenBench) -> None:
    running = seen = 0
    full = asyncio.Event()

    async def script(request: ChatRequest) -> Said:
        nonlocal running, seen
        running += 1
        seen = max(seen, running)
        if running == 3:
            full.set()
        await full.wait()
        await asyncio.sleep(0)
        running -= 1
        return look_up(request)

    settings = {**ONE_EPOCH, "env.workers": 3}
    await train(open_bench(optimizer=by_stage(reflect={"edits": []}), target=script, settings=settings))
    assert seen == 3


async def test_a_task_that_takes_too_long_counts_as_unmeasured(open_bench: OpenBench) -> None:
    """F1: the deadline of the configuration is the one that cancels."""

    async def script(_: ChatRequest) -> Said:
        await asyncio.Event().wait()
        return ""

    with pytest.raises(MeasurementError, match=r"no answer within 0\.02 seconds"):
        await train(open_bench(target=script, settings={"env.exec_timeout": 0.02}))


TRAINER, GATE, REFLECT, AGGREGATE = (
    "test_trainer.py",
    "step/test_gate.py",
    "step/test_reflect.py",
    "step/test_aggregate.py",
)
SKILL_AWARE = "e2e/test_skill_aware.py"
SLOW, COMPARISON = "epoch/test_slow_update.py", "epoch/test_comparison.py"
MODES = "e2e/test_update_modes.py"
OPEN_RUN = "test_a_run_that_is_open_is_used_and_left_open_unless_attach_is_false"
TRACKERS = {
    "mlflow": {
        "tracking_uri experiment run_name artifacts": "test_the_settings_name_experiment_and_run_and_leave_files_out",
        "attach": OPEN_RUN,
    },
    "wandb": {
        "project entity mode run_name log_dir artifacts": (
            "test_the_settings_name_project_run_and_directory_and_leave_files_out"
        ),
        "attach": OPEN_RUN,
    },
    "trackio": {
        "project run_name artifacts": "test_the_settings_name_project_and_run_and_leave_files_out",
        "attach": OPEN_RUN,
    },
    "tensorboard": {"log_dir artifacts": "test_the_settings_say_where_and_whether_the_skills_are_there"},
}
SHOWN_BY = {
    "train.num_epochs": (TRAINER, "test_epochs_and_batches_make_the_steps"),
    "train.train_size": (TRAINER, "test_train_size_takes_the_first_tasks"),
    "train.batch_size": (TRAINER, "test_epochs_and_batches_make_the_steps"),
    "train.sampling": (
        "e2e/test_sampling.py",
        "test_a_step_draws_tasks_that_were_not_seen_or_failed_when_last_seen",
    ),
    "train.accumulation": (MODES, "test_accumulation_reads_several_batches_a_step"),
    "train.seed": (TRAINER, "test_the_seed_decides_the_batches"),
    "gradient.minibatch_size": (REFLECT, "test_failures_and_successes_are_read_in_minibatches_of_their_own"),
    "gradient.merge_batch_size": (AGGREGATE, "test_patches_are_merged_in_levels_of_the_batch_size"),
    "gradient.analyst_workers": (REFLECT, "test_no_more_reflections_run_at_once_than_there_are_analysts"),
    "gradient.failure_only": (REFLECT, "test_failure_only_leaves_the_successes_alone"),
    "gradient.trajectory_tokens": (REFLECT, "test_a_long_trajectory_keeps_its_verdict_and_its_end"),
    "optimizer.learning_rate": (TRAINER, "test_the_edit_budget_follows_its_schedule"),
    "optimizer.min_learning_rate": (TRAINER, "test_the_edit_budget_follows_its_schedule"),
    "optimizer.lr_scheduler": (TRAINER, "test_the_edit_budget_follows_its_schedule"),
    "optimizer.lr_control_mode": (MODES, "test_lr_control_mode_decides_who_clips_the_step"),
    "optimizer.skill_update_mode": (MODES, "test_skill_update_mode_decides_what_makes_the_candidate"),
    "optimizer.near_duplicate": (AGGREGATE, "test_how_alike_duplicates_are_is_a_setting"),
    "optimizer.rejection_memory": (TRAINER, "test_the_rejection_memory_reaches_as_far_as_it_is_set"),
    "optimizer.redraw": (TRAINER, "test_a_rejected_step_draws_again_from_the_same_trajectories"),
    "optimizer.use_skill_aware_reflection": (SKILL_AWARE, "test_reminders_gain_what_edits_alone_cannot_reach"),
    "optimizer.skill_aware_appendix_source": (
        "step/test_skill_aware.py",
        "test_the_source_decides_which_reflections_may_write_notes",
    ),
    "optimizer.skill_aware_consolidate_threshold": (
        SKILL_AWARE,
        "test_an_appendix_above_the_threshold_is_written_in_fewer_notes",
    ),
    "optimizer.use_slow_update": (SLOW, "test_without_it_nothing_is_compared_and_nothing_written"),
    "optimizer.slow_update_samples": (COMPARISON, "test_so_many_training_tasks_are_compared_and_drawn_by_the_seed"),
    "optimizer.longitudinal_pair_policy": (COMPARISON, "test_the_policy_decides_which_pairs_are_shown"),
    "optimizer.slow_update_gate_with_selection": (
        SLOW,
        "test_guidance_that_scores_lower_is_rejected_or_applied_and_measured_anew",
    ),
    "optimizer.use_meta_skill": ("epoch/test_meta_skill.py", "test_without_it_nothing_is_remembered"),
    "skill.memorising": ("e2e/test_memorising.py", "test_a_copied_task_is_let_in_shown_or_refused"),
    "skill.memorising_ngram": ("e2e/test_memorising.py", "test_how_many_words_are_a_copy_is_a_setting"),
    "skill.max_tokens": ("step/test_update.py", "test_what_no_target_could_mend_is_not_sent_for_repair"),
    "evaluation.vet": (
        "e2e/test_vetting.py",
        "test_a_harmful_edit_is_left_out_of_the_bundle_that_holds_the_right_one",
    ),
    "evaluation.use_gate": (TRAINER, "test_without_a_gate_training_goes_on_with_what_scored_lower"),
    "evaluation.gate_metric": (TRAINER, "test_the_gate_metric_decides_what_partial_credit_is_worth"),
    "evaluation.gate_mixed_weight": (TRAINER, "test_the_gate_metric_decides_what_partial_credit_is_worth"),
    "evaluation.gate_block": (TRAINER, "test_the_gate_looks_after_each_block"),
    "evaluation.repeats": (TRAINER, "test_each_selection_task_is_done_as_often_as_asked"),
    "evaluation.remeasure": (TRAINER, "test_an_accepted_skill_is_measured_again_and_the_fresh_score_is_the_bar"),
    "evaluation.confidence": (TRAINER, "test_a_confidence_keeps_out_a_gain_that_may_be_luck"),
    "evaluation.max_regressions": (TRAINER, "test_a_gain_that_breaks_solved_tasks_can_be_refused"),
    "evaluation.acceptance": (TRAINER, "test_an_acceptance_rule_of_the_users_own_decides"),
    "evaluation.criterion": (
        "e2e/test_guards.py",
        "test_a_criterion_that_gets_better_is_no_tie_where_another_one_stays_bad",
    ),
    "evaluation.guards": ("e2e/test_guards.py", "test_a_guarded_criterion_may_fall_by_so_much_and_no_more"),
    "evaluation.refresh": (
        "e2e/test_refresh.py",
        "test_after_so_many_rejections_the_bar_is_the_mean_with_a_fresh_pass",
    ),
    "evaluation.gate_every": ("e2e/test_gate_every.py", "test_the_edits_of_several_steps_are_gated_together"),
    "evaluation.patience": (TRAINER, "test_patience_ends_a_training_that_accepts_nothing"),
    "evaluation.final_repeats": (TRAINER, "test_the_reported_score_of_the_best_skill_can_be_a_fresh_one"),
    "evaluation.reselect": (TRAINER, "test_the_best_skill_can_be_chosen_again_among_all_that_were_measured"),
    "evaluation.sel_env_num": (TRAINER, "test_only_so_many_selection_and_test_tasks_are_used"),
    "evaluation.test_env_num": (TRAINER, "test_only_so_many_selection_and_test_tasks_are_used"),
    "evaluation.eval_test": (TRAINER, "test_the_final_test_can_be_left_out"),
    "evaluation.max_unmeasured": (TRAINER, "test_how_much_may_be_missing_is_a_setting"),
    "report.picture": ("test_api.py", "test_a_training_ends_with_its_picture_unless_the_setting_picture_is_false"),
    "trackers.wait": (
        "trackers/test_watcher.py",
        "test_a_tracker_that_hangs_changes_nothing_and_the_others_are_told_all",
    ),
    **{
        f"trackers.{tracker}.{key}": (f"trackers/test_{tracker}_tracker.py", test)
        for tracker, tests in TRACKERS.items()
        for keys, test in tests.items()
        for key in keys.split()
    },
}
"""The test that shows what each setting of the training changes."""


def test_every_setting_of_the_training_is_shown_to_change_something() -> None:
    """F38, F76, F80: a documented setting that is not wired is a lie."""
    sections = {
        name: Config.model_fields[name].annotation
        for name in ("train", "gradient", "optimizer", "skill", "evaluation", "report")
    }
    settings = {f"{name}.{key}" for name, section in sections.items() for key in section.model_fields}  # type: ignore[union-attr]
    settings |= {".".join(path) for path, _ in schema_settings(TrackerSettings, ("trackers",))}
    assert SHOWN_BY.keys() == settings
    for setting, (file, test) in SHOWN_BY.items():
        text = (ROOT / "tests" / file).read_text("utf-8")
        _, found, body = text.partition(f"def {test}(")
        assert found, f"{setting}: {file} has no {test}"
        around = text[: -len(body)].rpartition("\n\n\n")[2] + body.partition("\n\n\n")[0]
        assert setting.rpartition(".")[2] in around, f"{test} does not speak of {setting}"
