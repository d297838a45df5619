from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from skillopt.run.stage_clock import StageClock, with_public_names


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


SECONDS = st.integers(0, 10**9).map(lambda milliseconds: milliseconds / 1000)
TIMING = st.dictionaries(st.sampled_from(["baseline_s", "rollout_s", "gate_s", "slow_update_s"]), SECONDS)


def test_a_step_that_measured_nothing_at_the_gate_took_no_time_there() -> None:
    assert with_public_names({"rollout_s": 0.1, "reflect_s": 0.2}) == {
        "rollout_s": 0.1, "reflect_s": 0.2, "evaluate_s": 0.0, "wall_time_s": 0.3,
    }  # fmt: skip
    assert with_public_names({"baseline_s": 2.5}) == {"baseline_s": 2.5, "wall_time_s": 2.5}


@given(TIMING, TIMING)
def test_seconds_that_are_added_later_are_in_the_whole_time_once(
    first: dict[str, float], later: dict[str, float]
) -> None:
    together = with_public_names({**with_public_names(first), **later})
    assert together == with_public_names({**first, **later})
    assert together["wall_time_s"] == round(sum({**first, **later}.values()), 3)
