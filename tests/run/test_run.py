"""The run as the trainer sees it: its schedule, and what becomes of what the stages made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import Bench, OpenBench, rule
from tests.support.runs import read_json
from tests.support.values import mean, state

from skillopt.errors import FatalModelError, LimitReached, MeasurementError, SkillOptError
from skillopt.events import RunEnded, StepCommitted, Warned
from skillopt.results import Candidate, Selected, Step
from skillopt.run.outcome import EndState, early_message
from skillopt.skill.document import Skill
from skillopt.state import Measured
from skillopt.trainer import measure_baseline
from skillopt.types import Action, Decision, Message, Patch, Place

ASKED = (Message("user", "What should change?"),)
REFLECT, MERGE = Place("reflect", 1, 1), Place("aggregate", 1, 1)
SOLVED = "\n".join(rule(number) for number in range(10)) + "\n"


def skip(bench: Bench) -> Step:
    """A step that proposed nothing."""
    decision = Decision(Action.SKIP_NO_PATCHES, "", mean(0), total=4)
    return Step((), (), (), Patch("", (), "failure"), Selected(), Candidate(bench.seed_skill), decision)


def test_an_epoch_is_one_pass_over_the_training_split(open_bench: OpenBench) -> None:
    bench = open_bench(splits={"train": range(20, 27)}, settings={"train.batch_size": 3, "train.num_epochs": 2})
    first = state(step=0)
    passes = [
        [bench.batch(replace(first, epoch=epoch, step=(epoch - 1) * 3 + number)) for number in (1, 2, 3)]
        for epoch in bench.epochs()
    ]
    assert [[len(batch) for batch in batches] for batches in passes] == [[3, 3, 1]] * 2
    assert (bench.steps_per_epoch, bench.total_steps) == (3, 6)
    ids = [[task.id for batch in batches for task in batch] for batches in passes]
    assert sorted(ids[0]) == sorted(ids[1]) == [f"t{number}" for number in range(20, 27)]
    assert ids[0] != ids[1]


@pytest.mark.parametrize(
    ("skill", "use_gate", "saturated"), [(SOLVED, True, True), (SOLVED, False, False), ("", True, False)]
)
async def test_nothing_can_be_higher_than_a_perfect_score(
    open_bench: OpenBench, skill: str, use_gate: bool, saturated: bool
) -> None:
    bench = open_bench(skill=skill, settings={"evaluation.use_gate": use_gate})
    assert bool(bench.stop_reason(await measure_baseline(bench))) is saturated


async def test_an_easy_baseline_is_warned_of_when_it_is_known(open_bench: OpenBench) -> None:
    """F131."""
    bench = open_bench(skill=SOLVED)
    await measure_baseline(bench)
    (warned,) = (event for event in bench.events if isinstance(event, Warned))
    assert "simulated:target with the seed skill solves 4/4 (100.0 %)" in warned.message
    hard = open_bench(skill="")
    await measure_baseline(hard)
    assert not [event for event in hard.events if isinstance(event, Warned)]


async def test_the_time_of_a_step_is_the_one_of_the_process_that_played_it_first(
    open_bench: OpenBench, tmp_path: Path
) -> None:
    evidence, seen = tmp_path / "evidence.sqlite", list[dict[str, Any]]()
    for _ in range(2):
        bench = open_bench(evidence=evidence)
        bench.commit((await measure_baseline(bench)).next_step(epoch=1, budget=2), skip(bench))
        seen.append({"history": bench.history})
    assert seen[0] == seen[1]


async def test_counters_belong_to_the_step_in_which_they_were_counted(open_bench: OpenBench) -> None:
    bench = open_bench()
    state = (await measure_baseline(bench)).next_step(epoch=1, budget=2)
    bench.count("merge_fallbacks")
    bench.count("dropped_reflections")
    bench.count("merge_fallbacks")
    state = bench.commit(state, skip(bench)).next_step(epoch=1, budget=2)
    bench.commit(state, skip(bench))
    assert [record["counters"] for record in bench.history[1:]] == [
        {"dropped_reflections": 1, "merge_fallbacks": 2}, {},
    ]  # fmt: skip
    committed = [event.record for event in bench.events if isinstance(event, StepCommitted)]
    assert committed == bench.history


def test_an_end_before_the_baseline_has_no_outcome_and_is_told_all_the_same(open_bench: OpenBench) -> None:
    bench = open_bench()
    error = MeasurementError("baseline: 4 of 4 tasks could not be measured")
    assert bench.stop(EndState.PROVIDER_FAILED, error) is None
    (ended,) = bench.events
    assert isinstance(ended, RunEnded)
    assert (ended.state, ended.message) == ("provider_failed", f"{error}\n{EndState.PROVIDER_FAILED.advice}")
    summary = read_json(bench.directory / "summary.json")
    assert summary == ended.summary
    assert (summary["state"], summary["exit_code"], summary["message"]) == ("provider_failed", 13, ended.message)
    assert summary["models"]["target"] == dict(bench.target.identity)
    assert "selection" not in summary and "test" not in summary


@pytest.mark.parametrize(
    ("ended", "error"),
    [
        (EndState.PROVIDER_FAILED, FatalModelError("bad key", hint="Set KEY.")),
        (EndState.LIMIT_REACHED, LimitReached("20 of 20 calls are used")),
    ],
)
async def test_an_early_end_keeps_the_best_skill_and_says_why(
    open_bench: OpenBench, ended: EndState, error: SkillOptError
) -> None:
    bench = open_bench(skill=rule(5))
    await measure_baseline(bench)
    outcome, said = bench.stop(ended, error), early_message(ended, error)
    assert outcome is not None
    assert (outcome.state, outcome.message, outcome.best_skill.text) == (ended, said, rule(5))
    summary = read_json(bench.directory / "summary.json")
    assert (summary["state"], summary["exit_code"], summary["message"]) == (ended, ended.exit_code, said)
    assert summary["selection"]["best"]["shown"] == "1/4 (25.0 %)"
    assert summary["test"] == {"seed": None, "best": None}


async def test_an_accepted_candidate_becomes_what_training_goes_on_with(open_bench: OpenBench) -> None:
    bench = open_bench()
    before = (await measure_baseline(bench)).next_step(epoch=1, budget=2)
    better = Skill.parse(SOLVED)
    rollouts = await bench.measure(better, tuple(reversed(bench.selection)), Place("gate", 1, 1))
    decision = Decision(Action.ACCEPT_NEW_BEST, "", mean(0), mean(1), rollouts=rollouts, total=4, new_best=True)
    step = Step((), (), (), Patch("", (), "failure"), Selected(), Candidate(better, changed=True), decision)
    after = bench.commit(before, step)
    in_order = tuple(sorted(rollouts, key=lambda rollout: bench.selection.index(rollout.task)))
    assert after.current == after.best == Measured(better, in_order, 1)
    assert bench.stop_reason(after)
    outcome = bench.finish(after, seed_test=(), best_test=())
    assert (outcome.state, outcome.best_skill) == (EndState.IMPROVED, better)
