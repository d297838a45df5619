"""What the optimizer sees when it looks back."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.values import append, rollout, state

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.config.training_settings import GradientSettings
from skillopt.epoch.comparison import pair_up
from skillopt.epoch.showing import show_accepted, show_comparison, show_previous
from skillopt.skill.document import Skill
from skillopt.state import Acceptance
from skillopt.types import Comparison, PairPolicy, Rewrite, Rollout

PREVIOUS = [rollout(number, hard, said=f"earlier {number}") for number, hard in enumerate([1, 0, 0, 1])]
CURRENT = [rollout(number, hard, said=f"later {number}") for number, hard in enumerate([0, 0, 1, 1])]


def comparison(previous: list[Rollout], current: list[Rollout], policy: PairPolicy = "mixed") -> Comparison:
    return Comparison(policy, tuple(previous), tuple(current), pair_up(previous, current, EvaluationSettings()))


def test_regressions_come_first_then_failures_then_improvements_with_both_trajectories() -> None:
    text = show_comparison(comparison(PREVIOUS, CURRENT), GradientSettings())
    order = [
        "## Regressed", "### t0", "earlier 0", "later 0", "## Failed with both (1)", "### t1", "earlier 1", "later 1",
        "## Improved", "### t2", "earlier 2", "later 2", "## Solved with both (1)\nt3",
    ]  # fmt: skip
    places = [text.index(part) for part in order]
    assert places == sorted(places)


def test_what_was_solved_with_both_is_only_named() -> None:
    text = show_comparison(comparison(PREVIOUS, CURRENT), GradientSettings())
    assert "t3" in text
    assert "earlier 3" not in text
    assert "q3" not in text


@pytest.mark.parametrize(("policy", "named"), [("changed", {"t0", "t2"}), ("unchanged", {"t1", "t3"})])
def test_what_the_policy_leaves_out_is_not_shown(policy: PairPolicy, named: set[str]) -> None:
    text = show_comparison(comparison(PREVIOUS, CURRENT, policy), GradientSettings())
    assert {one.task.id for one in CURRENT if one.task.id in text} == named


def test_nothing_to_compare_is_said() -> None:
    assert show_comparison(comparison([], []), GradientSettings()) == "(no task to compare)"


@pytest.mark.parametrize("pairs", [1, 4, 40])
def test_all_trajectories_together_take_the_room_of_one_reflection(pairs: int) -> None:
    """More 19: trimmed to a token budget, with the verdict and the end kept."""
    gradient = GradientSettings(minibatch_size=8, trajectory_tokens=1000)
    long = [rollout(number, said="word " * 5000 + f"end {number}", feedback="why") for number in range(pairs)]
    text = show_comparison(comparison(long, long), gradient)
    assert text.count("word") < 8 * 1000 * 1.2
    assert all(text.count(f"end {number}\n") == 2 for number in range(pairs))
    assert text.count("why") == 2 * pairs


def test_an_equal_skill_is_not_shown_twice() -> None:
    """More 19: the prompt holds the skill once."""
    now = state(text="# Skill\n")
    for previous, shown in (
        ("# Skill\n", "(the same as the skill as it stands)"),
        ("# Old\n", "# Old"),
        ("", "(the skill is still empty)"),
    ):
        assert show_previous(replace(now, previous=Skill.parse(previous)), now.current.skill) == shown


def test_accepted_edits_are_shown_newest_first_with_their_scores_and_bounded() -> None:
    assert show_accepted(state(), most=3) == "(none)"
    won = tuple(Acceptance(step, (append(f"rule {step}"), append("x")), f"{step}/9 won") for step in (1, 2, 3))
    assert show_accepted(replace(state(), accepted=won), most=3).splitlines() == [
        '- append "rule 3" (step 3): 3/9 won',
        '- append "x" (step 3): 3/9 won',
        '- append "rule 2" (step 2): 2/9 won',
        "- and 3 older",
    ]


def test_an_accepted_rewrite_is_shown_by_what_it_says_that_it_changed() -> None:
    won = (Acceptance(1, (Rewrite("# Whole", ("joined two rules", "named the unit")),), "3/9 won"),)
    shown = '- rewrite of the whole skill: "joined two rules; named the unit" (step 1): 3/9 won'
    assert show_accepted(replace(state(), accepted=won), most=3) == shown
