"""Several passes of one skill over the same tasks."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.values import rollout, unmeasured

from skillopt.evaluation.repeats import by_task, paired_means, passes, task_means
from skillopt.evaluation.scores import mean_gate_score
from skillopt.types import Rollout


def draws(*passes_: list[int]) -> list[Rollout]:
    """Rollouts of the tasks 0, 1, ... by pass, solved or not."""
    return [
        replace(rollout(number, hard), repeat=repeat)
        for repeat, scores in enumerate(passes_)
        for number, hard in enumerate(scores)
    ]


def test_two_passes_that_differ_say_so() -> None:
    """F18: the baseline is a mean with its spread and its n, not one number out of the blue."""
    found = passes(draws([1, 0, 0, 0], [1, 1, 0, 0]), "hard", weight=0.5)
    assert found.means == (Fraction(1, 4), Fraction(1, 2))
    assert found.mean == Fraction(3, 8)
    assert found.spread == pytest.approx(0.25 / 2**0.5)


def test_one_pass_has_no_spread() -> None:
    """F18: nothing is known of the noise, which is not the same as no noise."""
    assert passes(draws([1, 0]), "hard", weight=0.5).spread is None


def test_no_pass_is_no_score() -> None:
    with pytest.raises(ValueError, match="no rollout was measured"):
        passes([], "hard", weight=0.5)
    with pytest.raises(ValueError, match="no rollout was measured"):
        passes([unmeasured(0)], "hard", weight=0.5)


@given(st.integers(1, 4), st.integers(1, 5), st.randoms(use_true_random=False))
def test_the_mean_of_whole_passes_is_the_mean_of_all_rollouts(count: int, tasks: int, random: object) -> None:
    scores = [[random.randint(0, 1) for _ in range(tasks)] for _ in range(count)]  # type: ignore[attr-defined]
    rollouts = draws(*scores)
    mean = mean_gate_score(rollouts, "hard", weight=0.5)
    assert passes(reversed(rollouts), "hard", weight=0.5).mean == mean
    means = task_means(rollouts, "hard", weight=0.5)
    assert sum(means.values()) / len(means) == mean


def test_a_task_counts_by_its_mean_and_what_was_not_measured_does_not_count() -> None:
    rollouts = [*draws([1, 0], [1, 1]), unmeasured(7)]
    assert task_means(rollouts, "hard", weight=0.5) == {"t0": Fraction(1), "t1": Fraction(1, 2)}
    assert list(by_task(rollouts)) == ["t0", "t1"]


def test_a_pair_needs_as_many_draws_of_the_candidate_as_were_asked() -> None:
    """F37: a lucky first draw is not compared with a mean of several."""
    before, after = draws([1, 0], [0, 0]), draws([1, 1], [1])
    assert paired_means(before, after, "hard", weight=0.5, draws=2) == [(Fraction(1, 2), Fraction(1))]


def test_more_draws_of_the_current_skill_enter_its_mean() -> None:
    """The mean is compared, not pass with pass."""
    before, after = draws([1, 0], [0, 0], [0, 1]), draws([1, 0])
    assert paired_means(before, after, "hard", weight=0.5, draws=1) == [
        (Fraction(1, 3), Fraction(1)),
        (Fraction(1, 3), Fraction(0)),
    ]
