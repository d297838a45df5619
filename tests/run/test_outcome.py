"""How a run can end."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.support.values import measured, rollout

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.errors import FatalModelError, Interrupted, LimitReached
from skillopt.run.outcome import EndState, baseline_warning, early_message, end_message, end_state, improved
from skillopt.state import Final, State
from skillopt.types import Action, Decision


def decisions(*actions: Action) -> list[Decision]:
    return [Decision(action, "", Fraction(1, 2)) for action in actions]


def test_every_end_has_its_own_exit_code_and_only_improvement_is_success() -> None:
    codes = {state: state.exit_code for state in EndState}
    assert codes == {
        "improved": 0, "all_rejected": 10, "no_candidates": 11, "saturated": 12, "provider_failed": 13,
        "limit_reached": 14, "not_confirmed": 15, "interrupted": 130,
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


def test_candidates_that_nobody_could_judge_were_not_rejected() -> None:
    """F9: what helps is the cause of the outage, and no stronger optimizer."""
    unjudged = decisions(Action.SKIP_UNMEASURED, Action.SKIP_NO_PATCHES)
    assert "none could be judged" in end_message(EndState.ALL_REJECTED, unjudged)
    assert "optimizer" not in end_message(EndState.ALL_REJECTED, unjudged)
    judged = [*unjudged, *decisions(Action.REJECT)]
    assert end_message(EndState.ALL_REJECTED, judged) == EndState.ALL_REJECTED.advice
    for state in set(EndState) - {EndState.ALL_REJECTED}:
        assert end_message(state, unjudged) == state.advice


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


def test_a_gain_that_was_not_seen_again_is_an_end_of_its_own() -> None:
    """F37: whether the skill that gained is still the best one, or the seed is again."""
    won = [Decision(Action.ACCEPT_NEW_BEST, "", Fraction(1, 2), new_best=True)]
    lost = decisions(Action.REJECT)
    known = {"improved": False, "seed_is_perfect": False}
    assert end_state(won, **known, seed_is_best=True) is EndState.NOT_CONFIRMED
    assert end_state(lost, **known, seed_is_best=False) is EndState.NOT_CONFIRMED
    assert end_state(lost, **known, seed_is_best=True) is EndState.ALL_REJECTED


@pytest.mark.parametrize(
    ("seed", "best", "better", "as_high"),
    [([1, 0], [1, 1], True, True), ([1, 0], [0, 1], False, True), ([1, 0], [0, 0], False, False)],
)
def test_improved_is_what_the_reported_scores_say(
    seed: list[int], best: list[int], better: bool, as_high: bool
) -> None:
    """A rule of the user's own may prefer a skill that is as high."""
    own = EvaluationSettings(acceptance="rules.py:shorter")
    state = State(seed=measured(seed, "seed"), current=measured(best, "best"), best=measured(best, "best", step=1))
    assert (improved(state, EvaluationSettings()), improved(state, own)) == (better, as_high)
    fresh = Final((), (), again=measured([0, 0], "best").rollouts, seed_again=measured([0, 1], "seed").rollouts)
    assert not improved(replace(state, final=fresh), own)
    assert not improved(replace(state, best=state.seed), own)


def test_an_early_end_says_what_to_do_once() -> None:
    limit = early_message(EndState.LIMIT_REACHED, LimitReached("limits.calls is 5, and 5 were used"))
    assert limit == f"limits.calls is 5, and 5 were used\n{EndState.LIMIT_REACHED.advice}"
    refused = early_message(EndState.PROVIDER_FAILED, FatalModelError("bad key", hint="It was read from KEY."))
    assert refused == f"bad key\nIt was read from KEY.\n{EndState.PROVIDER_FAILED.advice}"
    asked = Interrupted("interrupted (SIGINT)", exit_code=130)
    assert early_message(EndState.INTERRUPTED, asked) == str(asked)
