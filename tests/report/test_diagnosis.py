"""What limits a result: every cause, brought about in a real run over scripted models."""

from __future__ import annotations

from typing import Any

import pytest
from tests.support.bench import Bench, OpenBench, appends, by_stage, look_up, rule
from tests.support.records import NOTHING_USED, record

from skillopt.errors import TransientModelError
from skillopt.report.diagnosis import Finding, diagnose
from skillopt.report.flips import Flip, Flips
from skillopt.report.page import findings_of
from skillopt.report.run_files import RunFiles
from skillopt.trainer import train

TWO_STEPS = {"train.num_epochs": 2, "train.batch_size": 4}


async def findings(bench: Bench) -> dict[str, Finding]:
    outcome = await train(bench)
    return {finding.kind: finding for finding in findings_of(RunFiles(outcome.directory))}


def told(records: list[dict[str, Any]], **more: Any) -> dict[str, Finding]:
    summary = {"best_step": 0, "state": "all_rejected"}
    return {finding.kind: finding for finding in diagnose(records, summary, **more)}


def changed(better: int, worse: int) -> Flips:
    return Flips((Flip("a", 0.0, 1.0),) * better, (Flip("b", 1.0, 0.0),) * worse, same=3, open=0)


BASELINE = record(0, val_n=40, val_passes={"n": 1}, val_soft=0.1, best_step=0, current_score=0.0, best_score=0.0)
STEP = {"rollout_unmeasured": 0, "n_edits_proposed": 4, "best_step": 0, "best_score": 0.0, "lost_by": 0.5}


def optimizer(**replies: Any) -> Any:
    return by_stage(**{"aggregate": appends(), "select": {"selected": []}, "update": appends(), **replies})


async def test_a_training_that_goes_well_has_no_finding_but_what_its_size_gives(open_bench: OpenBench) -> None:
    bench = open_bench(
        optimizer=optimizer(reflect=appends(*(rule(number) for number in range(30)))),
        splits={"train": range(4), "val": range(4, 24), "test": range(24, 30)},
        settings={**TWO_STEPS, "optimizer.learning_rate": 30, "optimizer.min_learning_rate": 30},
    )
    assert await findings(bench) == {}


async def test_no_failures_to_learn_from(open_bench: OpenBench) -> None:
    """F143: the score never moves, since nothing fails."""
    solved = "\n".join(rule(number) for number in range(4))
    found = await findings(open_bench(optimizer=optimizer(reflect=appends()), skill=solved, settings=TWO_STEPS))
    assert "All training rollouts, 8, were solved" in found["no_failures"].text
    assert "no_edits" not in found


async def test_no_edits_proposed(open_bench: OpenBench) -> None:
    """F143."""
    found = await findings(open_bench(optimizer=optimizer(reflect=appends()), settings=TWO_STEPS))
    assert "8 training rollouts failed, and the optimizer proposed no edit" in found["no_edits"].text
    assert "no_failures" not in found


async def test_replies_that_cannot_be_read(open_bench: OpenBench) -> None:
    """F143."""
    found = await findings(open_bench(optimizer=optimizer(reflect="no JSON at all"), settings=TWO_STEPS))
    assert "Of 6 calls of the optimizer 2 gave no reply that could be read" in found["unreadable_replies"].text


async def test_edits_that_find_no_target(open_bench: OpenBench) -> None:
    """F143."""
    lost = {"reasoning": "r", "edits": [{"op": "replace", "target": "zzz", "content": "y"}]}
    found = await findings(open_bench(optimizer=optimizer(reflect=lost, update=lost), settings=TWO_STEPS))
    assert "Of 2 edits none went into a candidate (2 unmatched: " in found["not_applied"].text
    assert "their target text is not in the skill" in found["not_applied"].text
    assert found["not_applied"].advice.endswith("cites the skill exactly.")


async def test_candidates_that_are_all_rejected(open_bench: OpenBench) -> None:
    """F143."""
    found = await findings(open_bench(optimizer=optimizer(reflect=appends("of no use")), settings=TWO_STEPS))
    assert "went to the gate and none was accepted; " in found["all_rejected"].text


async def test_a_seed_that_solves_nearly_everything(open_bench: OpenBench) -> None:
    """F131, F143: saturated."""
    perfect = "\n".join(rule(number) for number in range(8))
    found = await findings(open_bench(skill=perfect, optimizer=optimizer(), settings=TWO_STEPS))
    assert "already solves 4/4 of the selection tasks" in found["nearly_perfect"].text
    assert "no_training" in found


async def test_a_split_that_is_too_small_to_show_anything(open_bench: OpenBench) -> None:
    """F17: one task is worth more than a gain could be."""
    found = await findings(open_bench(optimizer=optimizer(reflect=appends()), settings=TWO_STEPS))
    assert (
        "The selection split has 4 tasks: one is worth 25.0 %, and a gain of fewer than 5 may be chance"
        in found["few_tasks"].text
    )
    assert "20 selection tasks" in found["few_tasks"].advice


def test_a_small_split_is_no_limit_where_it_was_enough_to_gain_and_show_everything() -> None:
    """F141: 16 tasks, none solved with the seed and all with the best skill, and so on held-out tasks."""
    small = {**BASELINE, "val_n": 16}
    perfect, half = (
        record(1, **{**STEP, "best_step": 1, "best_score": score}, action="accept_new_best") for score in (1.0, 0.5)
    )
    shown = {"selection": changed(16, 0), "test": changed(32, 0)}
    assert told([small, perfect], **shown) == {}
    assert "few_tasks" in told([small, half], **shown)
    assert "few_tasks" in told([small, perfect], selection=changed(2, 0), test=changed(1, 0))


async def test_a_gain_that_does_not_carry_over(open_bench: OpenBench) -> None:
    """F40: the best on the selection split is no better on held-out tasks; and one task more may be chance."""
    found = await findings(open_bench(optimizer=optimizer(reflect=appends(rule(4), rule(0))), settings=TWO_STEPS))
    assert "+25.0 points on the selection split, which chose it, and +0.0 points" in found["not_held_out"].text
    assert "better than the seed on 1 selection task, worse on 0; chance alone does that" in found["noise"].text


@pytest.mark.parametrize(("seed", "delta", "found"), [(1.0, 0.0, False), (1.0, -0.25, True), (0.75, 0.0, True)])
def test_held_out_tasks_that_the_seed_solves_all_show_no_gain_and_none_is_missed(
    seed: float, delta: float, found: bool
) -> None:
    summary = {
        "state": "improved",
        "best_step": 1,
        "selection_delta_hard": 0.5,
        "test_delta_hard": delta,
        "test": {"seed": {"hard": seed}},
    }
    kinds = [finding.kind for finding in diagnose([BASELINE, record(1, **STEP)], summary)]
    assert ("not_held_out" in kinds) == found


@pytest.mark.parametrize(
    ("selection", "test", "said"),
    [
        (changed(1, 0), None, "1 selection task, worse on 0; chance alone does that with p = 0.5"),
        (changed(1, 0), changed(9, 0), None),
        (changed(9, 0), changed(3, 1), "3 held-out tasks, worse on 1; chance alone does that with p = 0.31"),
        (changed(9, 0), changed(1, 2), None),
        (changed(9, 0), None, None),
        (None, None, None),
    ],
)
def test_a_gain_is_judged_by_held_out_tasks_where_they_show_it(
    selection: Flips | None, test: Flips | None, said: str | None
) -> None:
    """F19, F143: the whole gain of the best skill over the seed counts, however small the last step's part in it."""
    small = record(1, **STEP, action="accept_new_best", sign_test={"better": 1, "worse": 0, "p_value": 0.5})
    found = told([BASELINE, small], selection=selection, test=test)
    assert (said is None and "noise" not in found) or (said is not None and said in found["noise"].text)


@pytest.mark.parametrize(("vetted_out", "found"), [(2, False), (3, True)])
def test_edits_are_lost_where_more_of_them_stayed_out_than_went_in(vetted_out: int, found: bool) -> None:
    records = [BASELINE, record(1, **STEP, edits={"applied": 2, "vetted_out": vetted_out})]
    assert ("not_applied" in told(records)) == found


def test_what_was_lost_on_the_way_is_no_limit_where_nothing_was_left_to_gain() -> None:
    lost = {"edits": {"applied": 1, "vetted_out": 5}, "counters": {"replies_dropped": 5}}
    assert {"not_applied", "unreadable_replies"} <= set(told([BASELINE, record(1, **STEP, **lost)]))
    well = record(1, **{**STEP, "best_score": 1.0}, **lost)
    assert not {"not_applied", "unreadable_replies"} & set(told([BASELINE, well]))


def test_a_reply_that_is_lost_now_and_then_is_no_limit() -> None:
    usage = {"target": NOTHING_USED, "optimizer": {**NOTHING_USED, "calls": 35}}
    for dropped, worth_a_word in ((1, False), (4, True)):
        one = record(1, **STEP, counters={"replies_dropped": dropped}, total_usage=usage)
        assert ("unreadable_replies" in told([BASELINE, one])) == worth_a_word


@pytest.mark.parametrize(
    ("state", "advice"),
    [
        ("unmatched", "cites the skill exactly"),
        ("over_budget", "optimizer.learning_rate"),
        ("vetted_out", "feedback"),
        ("memorised", "more training tasks"),
    ],
)
def test_the_advice_fits_the_most_frequent_reason(state: str, advice: str) -> None:
    one = record(1, **STEP, edits={"applied": 1, state: 3, "duplicate": 2})
    assert advice in told([BASELINE, one])["not_applied"].advice


def test_suggestions_that_a_rewrite_was_written_from_are_not_lost() -> None:
    assert "not_applied" not in told([BASELINE, record(1, **STEP, edits={"suggested": 4, "over_budget": 4})])


def test_what_the_budget_leaves_out_is_a_limit_only_where_nothing_goes_in() -> None:
    """F117: an edit that would make the skill too large is over budget as well."""
    assert "not_applied" not in told([BASELINE, record(1, **STEP, edits={"applied": 4, "over_budget": 11})])
    found = told([BASELINE, record(1, **STEP, edits={"applied": 0, "over_budget": 3})])
    assert "Of 3 edits none went into a candidate (3 over_budget: " in found["not_applied"].text
    assert "skill.max_tokens" in found["not_applied"].advice


def test_a_budget_of_nothing_is_said_to_be_the_reason() -> None:
    """The optimizer is not asked for edits that no step may make."""
    found = told([BASELINE, record(1, **{**STEP, "n_edits_proposed": 0}, edit_budget=0)])
    assert "the edit budget is 0" in found["no_edits"].text
    assert found["no_edits"].advice == "Raise optimizer.learning_rate."


def test_rejected_candidates_are_counted_with_those_that_were_no_worse() -> None:
    one, two = (record(step, **{**STEP, "lost_by": 0.0}) for step in (1, 2))
    assert "1 candidate went to the gate and none was accepted; 1 of them" in told([BASELINE, one])["all_rejected"].text
    assert (
        "2 candidates went to the gate and none was accepted; 2 of them"
        in told([BASELINE, one, two])["all_rejected"].text
    )
    assert told([BASELINE, record(1, **STEP)])["all_rejected"].text.endswith("none was accepted.")


def test_partial_credit_that_the_gate_does_not_count() -> None:
    """F17: 4 tasks, soft 0.1 -> 0.4 each, hard unchanged."""
    found = told([BASELINE, record(1, **STEP, selection_soft=0.4)])
    assert "1 rejected candidate had more partial credit than the seed (up to 40.0 % against 10.0 %)" in (
        found["coarse_gate"].text
    )
    assert "soft or mixed" in found["coarse_gate"].advice


async def test_rollouts_that_could_not_be_measured(open_bench: OpenBench) -> None:
    """F1: an outage is no score, and the report says so."""

    def target(request: Any) -> Any:
        return TransientModelError("busy") if request.messages[-1].content == "q0" else look_up(request)

    bench = open_bench(
        optimizer=optimizer(reflect=appends(rule(4))),
        target=target,
        settings={**TWO_STEPS, "evaluation.max_unmeasured": 0.5},
    )
    found = await findings(bench)
    assert "2 rollouts could not be measured" in found["unmeasured"].text


async def test_candidates_that_nobody_could_judge_are_told_apart_from_rejected_ones(open_bench: OpenBench) -> None:
    """F9: the end and the finding name the outage and the way that measures what is missing."""
    down = True

    def target(request: Any) -> Any:
        lost = down and rule(4) in request.messages[0].content and request.messages[-1].content == "q6"
        return TransientModelError("down") if lost else look_up(request)

    settings = {**TWO_STEPS, "evaluation.max_unmeasured": 0.5}
    bench = open_bench(optimizer=optimizer(reflect=appends(rule(4))), target=target, settings=settings)
    outcome = await train(bench)
    assert "skip_unmeasured" in {record["action"] for record in bench.history}
    assert "none could be judged" in outcome.message and "--fork" in outcome.message
    (finding,) = [one for one in findings_of(RunFiles(bench.directory)) if one.kind == "unmeasured"]
    assert "and 2 candidates got no verdict" in finding.text and "--fork" in finding.advice
    down = False
    await train(bench)
    actions = [record["action"] for record in bench.history]  # of both starts
    assert actions[len(actions) // 2 :] == actions[: len(actions) // 2]
