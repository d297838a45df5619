"""Where and how runs are killed is drawn from a seed alone, and the report says what came of it."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.kill.child import CALL_ARRIVED, KINDS, RANDOM, Moment, Shot
from benchmarks.kill.drawing import draw_settings, draw_shot, draw_shots
from benchmarks.kill.harness import Kill, Trial
from benchmarks.kill.report import report
from tests.support.runs import write_run

from skillopt.config.load import load_config

MOMENTS = [
    *(Moment("before an event", "baseline", 0) for _ in range(50)),
    Moment("before an event", "gate", 3),
    Moment("before a writing statement", "gate", 3),
    Moment("before an event", "gate", 3),
]


def test_one_seed_draws_the_same_and_others_draw_others() -> None:
    def draws(seed: int) -> object:
        draw = random.Random(seed)
        return draw_settings(draw), draw_shots(draw, MOMENTS, first=KINDS[0], most=5, replies=9, seconds=1.0)

    assert [draws(seed) for seed in range(20)] == [draws(seed) for seed in range(20)]
    assert len({str(draws(seed)) for seed in range(20)}) > 3


def test_all_settings_that_are_drawn_go_together(tmp_path: Path) -> None:
    for seed in range(30):
        load_config(write_run(tmp_path, settings=draw_settings(random.Random(seed))))


def test_a_stage_that_passes_in_a_moment_is_met_as_often_as_a_long_one() -> None:
    draw = random.Random(0)
    shots = [draw_shot(draw, MOMENTS, kind="before an event", replies=9, seconds=1.0) for _ in range(200)]
    at_the_gate = [shot for shot in shots if shot.replies == 3]
    assert 70 < len(at_the_gate) < 130
    assert {shot.number for shot in at_the_gate} == {1, 2}, "counted from the third reply on, among its kind"


def test_calls_and_seconds_are_drawn_from_the_whole_run() -> None:
    draw = random.Random(0)
    calls = {draw_shot(draw, MOMENTS, kind=CALL_ARRIVED, replies=9, seconds=1.0).replies for _ in range(200)}
    assert calls == set(range(9))
    assert all(0 <= draw_shot(draw, MOMENTS, kind=RANDOM, replies=9, seconds=2.0).seconds <= 2 for _ in range(50))


def test_the_report_counts_and_shows_what_differs() -> None:
    equal = Trial({}, (Shot(RANDOM),), kills=[Kill(RANDOM, "gate")], lost=2)
    differs = Trial({"a": 1}, (), kills=[Kill(KINDS[0], "test")], differences=["best_skill.md differs"], asked_again=3)
    lines = report([equal, differs])
    assert lines[0] == "runs equal 1/2, recorded calls asked again: 3"
    assert "2 kills; 2 calls were in flight" in lines[1]
    assert f"     1 {RANDOM}" in lines
    assert "     1 in gate" in lines
    assert lines[-1] == "  best_skill.md differs"
