"""Why nothing or little improved: every cause, brought about in a real run over scripted models."""

from __future__ import annotations

from typing import Any

from tests.support.bench import Bench, OpenBench, appends, by_stage, look_up, rule

from skillopt.errors import TransientModelError
from skillopt.report.diagnosis import Finding, diagnose
from skillopt.trainer import train

TWO_STEPS = {"train.num_epochs": 2, "train.batch_size": 4}


async def findings(bench: Bench) -> dict[str, Finding]:
    outcome = await train(bench)
    return {finding.kind: finding for finding in diagnose(bench.history, outcome.summary)}


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
    assert "All 8 training rollouts were solved" in found["no_failures"].text
    assert "no_edits" not in found


async def test_no_edits_proposed(open_bench: OpenBench) -> None:
    """F143."""
    found = await findings(open_bench(optimizer=optimizer(reflect=appends()), settings=TWO_STEPS))
    assert "8 training rollouts failed, and the optimizer proposed no edit" in found["no_edits"].text
    assert "no_failures" not in found


async def test_replies_that_cannot_be_read(open_bench: OpenBench) -> None:
    """F143."""
    found = await findings(open_bench(optimizer=optimizer(reflect="no JSON at all"), settings=TWO_STEPS))
    assert "2 replies of the optimizer could not be read" in found["unreadable_replies"].text


async def test_edits_that_find_no_target(open_bench: OpenBench) -> None:
    """F143."""
    lost = {"reasoning": "r", "edits": [{"op": "replace", "target": "zzz", "content": "y"}]}
    found = await findings(open_bench(optimizer=optimizer(reflect=lost, update=lost), settings=TWO_STEPS))
    assert "only 0 were applied" in found["not_applied"].text
    assert "2 unmatched: their target text is not in the skill" in found["not_applied"].text


async def test_candidates_that_are_all_rejected(open_bench: OpenBench) -> None:
    """F143."""
    found = await findings(open_bench(optimizer=optimizer(reflect=appends("of no use")), settings=TWO_STEPS))
    assert "went to the gate and none scored strictly higher" in found["all_rejected"].text


async def test_a_seed_that_solves_nearly_everything(open_bench: OpenBench) -> None:
    """F131, F143: saturated."""
    perfect = "\n".join(rule(number) for number in range(8))
    found = await findings(open_bench(skill=perfect, optimizer=optimizer(), settings=TWO_STEPS))
    assert "already solves 4/4 of the selection tasks" in found["nearly_perfect"].text
    assert "no_training" in found


async def test_a_split_that_is_too_small_to_show_anything(open_bench: OpenBench) -> None:
    """F17: one task is worth more than a gain could be."""
    found = await findings(open_bench(optimizer=optimizer(reflect=appends()), settings=TWO_STEPS))
    assert "The selection split has 4 tasks: one of them is worth 25.0 %" in found["few_tasks"].text
    assert "20 selection tasks" in found["few_tasks"].advice


async def test_a_gain_that_does_not_carry_over(open_bench: OpenBench) -> None:
    """F40: the best on the selection split is no better on held-out tasks; and one task more may be chance."""
    found = await findings(open_bench(optimizer=optimizer(reflect=appends(rule(4), rule(0))), settings=TWO_STEPS))
    assert "+25.0 points on the selection split, which chose it, and +0.0 points" in found["not_held_out"].text
    assert "better on 1 selection tasks, worse on 0; chance alone does that with p = 0.5" in found["noise"].text


async def test_partial_credit_that_the_gate_does_not_count(open_bench: OpenBench) -> None:
    """F17: 4 tasks, soft 0.1 -> 0.4 each, hard unchanged."""
    records = [
        {
            "step": 0,
            "current_score": 0.0,
            "gate_metric": "hard",
            "val_n": 40,
            "val_passes": {"n": 1},
            "val_solved": 0,
            "val_soft": 0.1,
            "best_step": 0,
        },
        {
            "step": 1,
            "action": "reject",
            "selection_soft": 0.4,
            "rollout_n": 4,
            "rollout_solved": 0,
            "lost_by": 0.0,
            "rollout_unmeasured": 0,
            "n_edits_proposed": 1,
            "edits": {"applied": 1},
            "best_step": 0,
        },
    ]
    found = {finding.kind: finding for finding in diagnose(records, {"best_step": 0, "state": "all_rejected"})}
    assert "up to 40.0 % against 10.0 %" in found["coarse_gate"].text
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
