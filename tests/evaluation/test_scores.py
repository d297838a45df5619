from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.errors import EnvironmentLoadError
from skillopt.evaluation.scores import (
    GateMetric,
    criteria_means,
    exact,
    format_solved,
    gate_value,
    mean_gate_score,
    require_criteria,
    solved,
)
from skillopt.types import Criterion, Failure, Rollout, Score, Task, Trajectory


def measured(hard: int, soft: float) -> Rollout:
    return Rollout(Task("t", {}), "skill", trajectory=Trajectory((), ""), score=Score(hard, soft))


def unmeasured() -> Rollout:
    return Rollout(Task("t", {}), "skill", failure=Failure("timeout", "target", "TimeoutError", "7 s passed"))


@pytest.mark.parametrize(("metric", "expected"), [("hard", "0.4"), ("soft", "0.8"), ("mixed", "0.5")])
def test_the_mean_gate_score_follows_the_metric(metric: GateMetric, expected: str) -> None:
    rollouts = [measured(hard, 0.8) for hard in (1, 1, 0, 0, 0)]
    assert mean_gate_score(rollouts, metric, weight=0.25) == Fraction(expected)


def test_partial_credit_counts_where_solved_tasks_do_not_move() -> None:
    """F17: four tasks go from 0.1 to 0.4, none is solved."""
    before, after = [measured(0, 0.1)] * 4, [measured(0, 0.4)] * 4
    means = {metric: [mean_gate_score(side, metric, weight=0.5) for side in (before, after)] for metric in METRICS}
    assert means["hard"] == [0, 0]
    assert means["soft"] == [Fraction(1, 10), Fraction(4, 10)]
    assert means["mixed"] == [Fraction(1, 20), Fraction(4, 20)]


def scored(**criteria: float) -> Rollout:
    return Rollout(Task("t", {}), "skill", trajectory=Trajectory((), ""), score=Score(1, 1.0, criteria=criteria))


def test_a_criterion_counts_by_its_own_value_and_not_by_the_score() -> None:
    """F24."""
    rollouts = [scored(a=1 / 3), scored(a=2 / 3), scored(a=0), unmeasured()]
    assert mean_gate_score(rollouts, Criterion("a"), weight=0.5) == Fraction(1, 3)


def test_a_criterion_that_is_missing_is_told_with_those_there_are() -> None:
    with pytest.raises(EnvironmentLoadError, match="no criterion 'b'; the criteria there are: 'a', 'c'"):
        gate_value(scored(a=1, c=1).score, Criterion("b"), weight=0.5)  # type: ignore[arg-type]
    with pytest.raises(EnvironmentLoadError, match=r"here: the score has no criterion 'x', 'y'; .* are: none"):
        require_criteria(Score(0, 0.0), ["x", "y"], where="here: ")


def test_means_are_of_the_criteria_that_every_measured_score_has() -> None:
    assert criteria_means([scored(a=1, b=1), unmeasured(), scored(a=0)]) == {"a": Fraction(1, 2)}
    assert criteria_means([unmeasured()]) == {}


METRICS: tuple[GateMetric, ...] = ("hard", "soft", "mixed")


def test_thirds_add_up_to_a_whole() -> None:
    assert sum(exact(part) for part in (1 / 3, 1 / 3, 1 / 3)) == 1
    assert mean_gate_score([measured(0, 2 / 3)] * 3, "soft", weight=0.5) == Fraction(2, 3)


@given(st.integers(0, 1000), st.integers(1, 1000))
def test_the_float_of_a_fraction_is_read_as_that_fraction(part: int, whole: int) -> None:
    assert exact(part / whole) == Fraction(part, whole)


@given(st.lists(st.tuples(st.integers(0, 1), st.floats(0, 1)), min_size=1), st.sampled_from(METRICS), st.randoms())
def test_a_mean_does_not_depend_on_the_order_of_the_rollouts(
    scores: list[tuple[int, float]], metric: GateMetric, random: object
) -> None:
    """More 14."""
    rollouts = [measured(hard, soft) for hard, soft in scores]
    shuffled = list(rollouts)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    mean = mean_gate_score(rollouts, metric, weight=0.3)
    assert mean == mean_gate_score(shuffled, metric, weight=0.3)
    assert 0 <= mean <= 1


def test_what_was_not_measured_never_enters_a_mean() -> None:
    """F1: one task of four was measured, and it was solved: 1.0, not 0.25."""
    rollouts = [measured(1, 1.0), unmeasured(), unmeasured(), unmeasured()]
    assert mean_gate_score(rollouts, "hard", weight=0.5) == 1
    assert solved(rollouts) == (1, 1)


@pytest.mark.parametrize("rollouts", [[], [unmeasured()] * 4])
@pytest.mark.parametrize("metric", METRICS)
def test_nothing_measured_is_no_score(rollouts: list[Rollout], metric: GateMetric) -> None:
    """F9: never 0, never a comparison."""
    with pytest.raises(ValueError, match="no rollout was measured"):
        mean_gate_score(rollouts, metric, weight=0.5)


def test_a_score_of_zero_is_a_score() -> None:
    """More 3."""
    assert mean_gate_score([measured(0, 0.0)], "mixed", weight=0.5) == 0
    assert solved([measured(0, 0.0)]) == (0, 1)


@pytest.mark.parametrize("soft", [float("nan"), float("inf"), -0.1, 1.1])
def test_nan_and_values_out_of_range_are_no_scores(soft: float) -> None:
    """More 3."""
    with pytest.raises(ValueError, match="soft is"):
        Score(1, soft)


def test_a_misspelt_metric_is_an_error() -> None:
    """More 8."""
    with pytest.raises(ValueError, match="'sotf' is unknown; it must be hard, soft or mixed"):
        gate_value(Score(1, 1.0), "sotf", weight=0.5)  # type: ignore[arg-type]


def test_a_weight_out_of_range_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"is 1\.5"):
        gate_value(Score(1, 1.0), "mixed", weight=1.5)


@pytest.mark.parametrize(
    ("count", "total", "text"), [(13, 20, "13/20 (65.0 %)"), (2, 3, "2/3 (66.7 %)"), (0, 0, "0/0 (nothing measured)")]
)
def test_a_share_is_shown_with_its_counts(count: int, total: int, text: str) -> None:
    """F93: a percentage alone hides how many tasks it stands on."""
    assert format_solved(count, total) == text


def test_a_share_above_the_whole_is_refused() -> None:
    with pytest.raises(ValueError, match="3 of 2"):
        format_solved(3, 2)
