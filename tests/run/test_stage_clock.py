from __future__ import annotations

from skillopt.run.stage_clock import StageClock


def test_a_stage_lasts_until_the_next_one_begins_and_adds_up_where_it_comes_again() -> None:
    readings = iter([10.0, 11.5, 14.0, 14.25, 20.0])
    clock = StageClock(lambda: next(readings))
    clock.start("rollout")
    clock.start("reflect")
    clock.start("rollout")
    clock.start("gate")
    assert clock.stop() == {"rollout_s": 1.75, "reflect_s": 2.5, "gate_s": 5.75}


def test_nothing_of_one_step_stays_for_the_next() -> None:
    readings = iter([0.0, 1.0, 5.0, 7.0])
    clock = StageClock(lambda: next(readings))
    clock.start("rollout")
    assert clock.stop() == {"rollout_s": 1.0}
    clock.start("gate")
    assert clock.stop() == {"gate_s": 2.0}
