"""A bar that was luck: after rejections in a row the current skill is measured once more, and the mean is the bar."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.support.bench import Bench, OpenBench, appends, by_stage, look_up, rule, text_of
from tests.support.runs import read_json, views

from skillopt.errors import ConfigError
from skillopt.models.base import ChatRequest
from skillopt.run.outcome import EndState
from skillopt.simulation.scripted import Said
from skillopt.trainer import train

QUIET = {"optimizer.use_slow_update": False, "optimizer.use_meta_skill": False}


def lucky_seed(request: ChatRequest) -> Said:
    """A target that solves q5 and q6 without any rule, in its first pass only."""
    question = request.messages[-1].content
    seed = " = " not in text_of(request) and "Note" not in text_of(request)
    return (
        question.replace("q", "a")
        if seed and question in ("q5", "q6") and not request.place.attempt
        else look_up(request)
    )


def by_epoch(*edits: tuple[str, ...]) -> Any:
    return by_stage(reflect=lambda request: appends(*edits[request.place.epoch - 1]))


def refreshes(bench: Bench) -> list[Any]:
    return [record["refresh"] for record in bench.history[1:]]


@pytest.mark.parametrize(("refresh", "action"), [(0, "reject"), (2, "accept_new_best"), (3, "reject")])
async def test_after_so_many_rejections_the_bar_is_the_mean_with_a_fresh_pass(
    open_bench: OpenBench, refresh: int, action: str
) -> None:
    """evaluation.refresh: the seed's 2 of 4 were luck; over two passes it has 1 of 4, and a real gain wins."""
    bench = open_bench(
        optimizer=by_epoch((rule(4),), (rule(7),), (rule(4), rule(5))),
        target=lucky_seed,
        settings={**QUIET, "train.num_epochs": 3, "evaluation.refresh": refresh},
    )
    outcome = await train(bench)
    assert [record["action"] for record in bench.history[1:]] == ["reject", "reject", action]
    last = bench.history[-1]
    if action == "reject":
        assert refreshes(bench) == [None] * 3
        assert last["current_score"] == 0.5
        return
    told = {
        "score_before": 0.5, "fresh_score": 0.0, "score_after": 0.25, "passes": 2, "best_step": 0, "best_score": 0.25,
    }  # fmt: skip
    assert refreshes(bench) == [None, None, told]
    assert last["reason"].startswith("strictly higher: hard 2/4 (50.0 %) against 1/4 (25.0 %); 4 of 4 tasks measured")
    assert last["usage"]["target.refresh"]["calls"] == 4
    rows = read_json(bench.directory / "steps" / "step_0003" / "selection_eval_refresh" / "results.json")
    assert [(row["id"], row["repeat"]) for row in rows] == [(f"t{number}", 1) for number in range(4, 8)]
    assert outcome.summary["selection_passes"]["seed"]["scores"] == [0.5, 0.0], "one skill has one score"


async def test_what_lost_to_a_lucky_bar_is_judged_again_and_nothing_is_paid_for_it(open_bench: OpenBench) -> None:
    """The same two rules tie with the lucky seed, and win against its mean."""
    rules = (rule(4), rule(5))
    settings = {**QUIET, "train.num_epochs": 2, "evaluation.refresh": 1}
    bench = open_bench(optimizer=by_epoch(rules, rules), target=lucky_seed, settings=settings)
    await train(bench)
    assert [record["action"] for record in bench.history[1:]] == ["reject", "accept_new_best"]
    assert len([one for one in bench.target.requests if one.place.stage == "gate"]) == 4


async def test_the_count_starts_again_after_a_fresh_pass_and_the_bar_is_the_mean_of_all(open_bench: OpenBench) -> None:
    notes = tuple((f"Note {number}.",) for number in range(5))
    settings = {**QUIET, "train.num_epochs": 5, "evaluation.refresh": 2, "evaluation.gate_block": 1}
    bench = open_bench(optimizer=by_epoch(*notes), target=lucky_seed, settings=settings)
    await train(bench)
    assert [record["passes"] if record else None for record in refreshes(bench)] == [None, None, 2, None, 3]
    assert refreshes(bench)[-1]["score_after"] == pytest.approx(0.5 / 3)
    assert bench.history[-1]["val_passes"]["scores"] == [0.5, 0.0, 0.0]
    assert "against 0.6667/4 (16.7 %)" in bench.history[-1]["reason"]


async def test_it_goes_with_repeats_fresh_scores_redraws_and_a_second_start(
    open_bench: OpenBench, tmp_path: Path
) -> None:
    """A candidate is compared by its two passes with the mean of the three that the current skill has."""
    settings = {
        **QUIET,
        "train.num_epochs": 2,
        "evaluation.repeats": 2,
        "evaluation.remeasure": True,
        "evaluation.refresh": 1,
        "optimizer.redraw": 1,
    }
    tries = iter([("Note 1.",), ("Note 2.",), (rule(4), rule(5))])
    script, evidence = by_stage(reflect=lambda _: appends(*next(tries))), tmp_path / "evidence.sqlite"
    bench = open_bench(optimizer=script, target=lucky_seed, settings=settings, evidence=evidence)
    await train(bench)
    first, second = bench.history[1:]
    assert (first["action"], len(first["redraws"])) == ("reject", 1)
    assert second["refresh"] == {
        "score_before": 0.25, "fresh_score": 0.0, "score_after": pytest.approx(0.5 / 3), "passes": 3,
        "best_step": 0, "best_score": pytest.approx(0.5 / 3),
    }  # fmt: skip
    assert (second["action"], second["val_passes"]["n"], second["selection_n"]) == ("accept_new_best", 2, 8)
    assert second["sign_test"] == {"better": 2, "worse": 1, "p_value": 0.5}
    files = views(bench.directory)
    again = open_bench(optimizer=(), target=(), settings=settings, evidence=evidence)
    await train(again)
    assert views(again.directory) == files


def test_without_a_gate_nothing_is_rejected(open_bench: OpenBench) -> None:
    with pytest.raises(ConfigError, match="leave out refresh and gate_every, or use the gate"):
        open_bench(settings={"evaluation.use_gate": False, "evaluation.refresh": 1})


def lucky_line(request: ChatRequest) -> Said:
    """A target that a useless line helps at the gate by luck; in truth the line harms."""
    skill, question = text_of(request), request.messages[-1].content
    if "Be kind." not in skill:
        return look_up(request)
    lucky = request.place.stage == "gate" and "Note" not in skill and question in ("q4", "q5")
    return question.replace("q", "a") if lucky else "bad"


async def test_a_skill_that_falls_below_the_seed_is_the_best_no_longer(open_bench: OpenBench) -> None:
    """F37: one skill that was best by luck must not end as improved, nor be what is deployed."""
    bench = open_bench(
        optimizer=by_epoch(("Be kind.",), ("Note 1.",), ("Note 2.",), ("Note 3.",)),
        target=lucky_line,
        skill=f"{rule(6)}\n",
        settings={**QUIET, "train.num_epochs": 4, "evaluation.refresh": 1},
    )
    outcome = await train(bench)
    assert [record["best_step"] for record in bench.history] == [0, 1, 1, 1, 0]
    assert [record and record["best_score"] for record in refreshes(bench)] == [None, None, 0.25, 0.25]
    assert bench.history[3]["best_score"] == 0.25, "as high as the seed, it stays"
    assert (outcome.state, outcome.best_skill.text) == (EndState.NOT_CONFIRMED, f"{rule(6)}\n")
    assert (bench.directory / "best_skill.md").read_text("utf-8") == f"{rule(6)}\n"
    assert [record["best_solved"] / record["best_n"] for record in bench.history] == [
        record["best_score"] for record in bench.history
    ], "the best skill is counted from its own passes"
    assert any(record["best_n"] != record["val_n"] for record in bench.history)
