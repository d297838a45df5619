"""Which tasks a skill does better and worse than another one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.report.flips import Flip, Metric, flips
from skillopt.report.stored_rows import RolloutRow
from skillopt.types import Criterion


def row(
    task: int, hard: int | None = 1, soft: float | None = None, *, repeat: int = 0, **criteria: float
) -> RolloutRow:
    if hard is None:
        return RolloutRow(id=f"t{task}", repeat=repeat, status="error")
    credit = float(hard) if soft is None else soft
    return RolloutRow(id=f"t{task}", repeat=repeat, status="ok", hard=hard, soft=credit, criteria=criteria)


def test_a_task_is_fixed_broken_or_the_same() -> None:
    found = flips([row(1, 0), row(2, 1), row(3, 1)], [row(2, 0), row(1, 1), row(3, 1)], Metric())
    assert found.fixed == (Flip("t1", 0.0, 1.0),)
    assert found.broken == (Flip("t2", 1.0, 0.0),)
    assert (found.same, found.open) == (1, 0)


def test_what_was_not_measured_with_both_is_neither() -> None:
    """An early stop, an outage before, an outage now."""
    found = flips([row(1, 0), row(2, None), row(3, 0)], [row(2, 1), row(3, None)], Metric())
    assert (found.fixed, found.broken, found.same, found.open) == ((), (), 0, 3)


def test_several_rollouts_of_a_task_count_by_their_mean() -> None:
    before = [row(1, 0), row(1, 1, repeat=1), row(2, 1), row(2, 1, repeat=1)]
    after = [row(1, 1), row(1, 1, repeat=1), row(2, 1)]
    found = flips(before, after, Metric(repeats=2))
    assert found.fixed == (Flip("t1", 0.5, 1.0),)
    assert (found.same, found.open) == (0, 1), "of task 2 one rollout is missing"


@pytest.mark.parametrize(
    ("metric", "fixed"),
    [
        (Metric("hard"), False),
        (Metric("soft"), True),
        (Metric("mixed", weight=0.1), True),
        (Metric(Criterion("short")), True),
        (Metric(Criterion("long")), False),
    ],
)
def test_the_metric_is_the_gates(metric: Metric, fixed: bool) -> None:
    """F17, F24."""
    found = flips([row(1, 0, 0.1, short=0.0)], [row(1, 0, 0.4, short=1.0)], metric)
    assert bool(found.fixed) == fixed
    assert found.broken == ()


def test_shares_that_floats_cannot_hold_are_still_equal() -> None:
    thirds = [row(1, 0, soft, repeat=number) for number, soft in enumerate((1 / 3, 2 / 3))]
    assert flips([row(1, 0, 0.5)], thirds, Metric("soft", repeats=2)).same == 1


def test_the_metric_is_read_from_the_settings() -> None:
    assert Metric.of_settings({}) == Metric("hard")
    settings = {"gate_metric": "mixed", "gate_mixed_weight": 0.2, "repeats": 3, "criterion": None}
    assert Metric.of_settings(settings) == Metric("mixed", 0.2, 3)
    assert Metric.of_settings({"criterion": "short"}).compared == Criterion("short")


@pytest.mark.parametrize(
    "settings", [{"gate_metric": "hardest"}, {"gate_mixed_weight": 2}, {"repeats": 0}, {"repeats": "many"}]
)
def test_settings_of_no_configuration_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"gate_metric|gate_mixed_weight|invalid literal"):
        Metric.of_settings(settings)


scores = st.lists(st.sampled_from([0, 1, None]), min_size=6, max_size=6)


@given(scores, scores)
def test_every_task_ends_in_one_place_and_the_way_back_fixes_what_was_broken(
    before: list[int | None], after: list[int | None]
) -> None:
    one, two = ([row(number, hard) for number, hard in enumerate(scores)] for scores in (before, after))
    there, back = flips(one, two, Metric()), flips(two, one, Metric())
    assert len(there.fixed) + len(there.broken) + there.same + there.open == 6
    assert {flip.task_id for flip in there.fixed} == {flip.task_id for flip in back.broken}
