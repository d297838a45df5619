"""How a run can end."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.support.values import rollout

from skillopt.run.outcome import EndState, baseline_warning, end_state
from skillopt.types import Action, Decision


def decisions(*actions: Action) -> list[Decision]:
    return [Decision(action, "", Fraction(1, 2)) for action in actions]


def test_every_end_has_its_own_exit_code_and_only_improvement_is_success() -> None:
    codes = {state: state.exit_code for state in EndState}
    assert codes == {
        "improved": 0, "all_rejected": 10, "no_candidates": 11, "saturated": 12, "provider_failed": 13,
        "limit_reached": 14,
    }  # fmt: skip


@pytest.mark.parametrize("state", EndState)
def test_every_end_says_what_to_do(state: EndState) -> None:
    """F143: a score that never moves has a reason."""
    assert state.advice.endswith(".")
    assert len(state.advice.split()) > 5


@pytest.mark.parametrize(
    ("actions", "state"),
    [
        ((), EndState.NO_CANDIDATES),
        ((Action.SKIP_NO_PATCHES, Action.SKIP_NO_CHANGE), EndState.NO_CANDIDATES),
        ((Action.SKIP_NO_PATCHES, Action.REJECT), EndState.ALL_REJECTED),
        ((Action.SKIP_UNMEASURED,), EndState.ALL_REJECTED),
        ((Action.FORCE_ACCEPT,), EndState.ALL_REJECTED),
    ],
)
def test_a_run_that_made_nothing_differs_from_one_whose_edits_lost(
    actions: tuple[Action, ...], state: EndState
) -> None:
    """F10: distinct end states; "no improvement" hid them all."""
    assert end_state(decisions(*actions), improved=False, seed_is_perfect=False) is state


def test_a_perfect_seed_is_saturated_unless_something_was_better() -> None:
    assert end_state([], improved=False, seed_is_perfect=True) is EndState.SATURATED
    assert end_state(decisions(Action.REJECT), improved=True, seed_is_perfect=False) is EndState.IMPROVED


@pytest.mark.parametrize(("solved", "warned"), [(18, False), (19, False), (20, True)])
def test_a_baseline_above_95_percent_is_warned_of_with_target_and_numbers(solved: int, warned: bool) -> None:
    """F131: tasks tuned to one model; 19/20 is 0.95, which is not above it."""
    rollouts = [rollout(number, int(number < solved)) for number in range(20)]
    warning = baseline_warning(Fraction(solved, 20), rollouts, target="openai:gpt-5.5")
    assert bool(warning) is warned
    if warned:
        assert "openai:gpt-5.5" in warning
        assert "20/20 (100.0 %)" in warning
