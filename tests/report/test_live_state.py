"""What is known of a run: rates, limits, the six stages."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.records import spent, started

from skillopt.events import RunEnded
from skillopt.report.live_state import NOTHING, STAGES, LimitUse, LiveRun, Stage


def test_nothing_is_known_before_the_first_event() -> None:
    assert (NOTHING.total_steps, NOTHING.at_work, NOTHING.limits(1.0), NOTHING.seconds_left(1.0)) == (0, None, (), None)
    assert NOTHING.shown_stages == ()


def names(*stages: Stage) -> list[tuple[str, bool]]:
    return [(name, stage is not None) for name, stage in LiveRun(stages=stages).shown_stages]


def test_a_stage_that_is_none_of_the_six_stands_where_it_came_while_it_works() -> None:
    begun = [Stage(name, 0.0, over=True) for name in STAGES[:-1]]
    vet = Stage("vet", 1.0)
    six = [(name, True) for name in STAGES[:-1]]
    assert names(*begun, vet) == [*six, ("vet", True), ("gate", False)]
    assert names(*begun, replace(vet, over=True), Stage("gate", 2.0)) == [*six, ("gate", True)]
    assert names(*begun, Stage("gate", 2.0, over=True), Stage("refresh", 3.0))[-1] == ("refresh", True)
    assert names(Stage("slow_update", 0.0, over=True)) == [("slow_update", True)], (
        "between steps there is what there is"
    )


def test_a_rate_counts_what_was_not_in_the_evidence_and_there_is_none_of_nothing() -> None:
    stage = Stage("rollout", 100.0, done=9, total=10, recorded=3)
    assert stage.rate(103.0) == pytest.approx(2.0)
    assert stage.rate(100.0) is None and stage.rate(99.0) is None
    assert replace(stage, recorded=9).rate(103.0) is None


def limited(**limits: float) -> LiveRun:
    by_key = {name.replace("__", "."): most for name, most in limits.items()}
    return LiveRun(started=started(limits=by_key), began=100.0, at=160.0, spent=spent(9, 4))


def test_limits_are_used_up_by_what_all_starts_paid_together_or_by_role() -> None:
    known = limited(limits__calls=9, limits__target__calls=5, limits__optimizer__tokens=50, limits__dollars=2.0)
    assert known.limits(160.0) == (
        LimitUse("limits.calls", 5, 9),
        LimitUse("limits.target.calls", 4, 5),
        LimitUse("limits.optimizer.tokens", 5, 50),
        LimitUse("limits.dollars", 0.75, 2.0),
    )
    assert replace(known, spent=None).limits(160.0)[0].used == 0


def test_a_limit_that_no_run_has_is_not_shown() -> None:
    assert limited(limits__calls=0, limits__tokens=-1).limits(160.0) == ()


def test_minutes_are_those_of_this_start_and_stand_still_once_it_has_ended() -> None:
    known = limited(limits__minutes=30)
    assert known.limits(280.0) == (LimitUse("limits.minutes", 3.0, 30),)
    over = replace(known, ended=RunEnded("improved", "", {}))
    assert over.limits(99999.0) == (LimitUse("limits.minutes", 1.0, 30),)


def test_a_price_that_is_not_known_uses_up_no_dollars() -> None:
    """F11"""
    known = replace(limited(limits__target__dollars=2.0), spent=spent(1, 1, dollars=None))
    assert known.limits(0)[0].used == 0
