"""When a candidate is accepted, as pure functions of paired scores, and rules of the user's own."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.values import rollout

from skillopt.errors import EnvironmentLoadError
from skillopt.evaluation.acceptance import (
    AcceptanceRule,
    Comparison,
    TaskPair,
    Verdict,
    compare,
    fewest_changes,
    load_acceptance,
    unmet_requirement,
)
from skillopt.evaluation.statistics import sign_test
from skillopt.types import Rollout

ROOT = Path(__file__).parents[2]


def draws(*passes: list[int]) -> list[Rollout]:
    return [
        replace(rollout(number, hard), repeat=repeat)
        for repeat, scores in enumerate(passes)
        for number, hard in enumerate(scores)
    ]


def compared(before: list[list[int]], after: list[list[int]]) -> Comparison:
    return compare("current", "candidate", draws(*before), draws(*after), metric="hard", weight=0.5)


def test_a_comparison_pairs_task_by_task_and_averages_over_passes() -> None:
    comparison = compared([[1, 0], [0, 0]], [[0, 1], [1, 1]])
    assert [(pair.task_id, pair.before, pair.after) for pair in comparison.pairs] == [
        ("t0", Fraction(1, 2), Fraction(1, 2)),
        ("t1", Fraction(0), Fraction(1)),
    ]
    assert (comparison.before, comparison.after) == (Fraction(1, 4), Fraction(3, 4))
    assert comparison.sign_test == sign_test(1, 0)


def test_other_tasks_are_no_pairs() -> None:
    with pytest.raises(ValueError, match="2 and 1 tasks are not the same tasks"):
        compared([[1, 0]], [[1]])


@pytest.mark.parametrize(
    ("before", "after", "broken"),
    [("1", "0", True), ("2/3", "1/3", True), ("1/2", "0", False), ("1", "2/3", False), ("0", "1", False)],
)
def test_a_task_breaks_where_most_passes_solved_it_and_most_do_not_any_more(
    before: str, after: str, broken: bool
) -> None:
    """F39: one unlucky pass of three breaks nothing."""
    shares = Fraction(before), Fraction(after)
    assert TaskPair("t", "", *shares, *shares).broken is broken


@given(st.integers(0, 12), st.integers(0, 12), st.sampled_from([0.0, 0.5, 0.75, 0.9, 0.95, 0.99]))
def test_the_confidence_is_that_of_the_exact_sign_test(better: int, worse: int, confidence: float) -> None:
    comparison = compared([[0] * better + [1] * worse + [1]], [[1] * better + [0] * worse + [1]])
    unmet = unmet_requirement(comparison, confidence=confidence, max_regressions=None)
    assert bool(unmet) == (sign_test(better, worse).p_value > 1 - confidence + 1e-9)


@given(st.floats(0.0, 0.999))
def test_the_fewest_changes_reach_the_confidence_and_one_less_does_not(confidence: float) -> None:
    fewest = fewest_changes(confidence)
    reached = [
        not unmet_requirement(compared([[0] * n + [1]], [[1] * n + [1]]), confidence=confidence, max_regressions=None)
        for n in range(fewest + 2)
    ]
    assert reached == [False] * fewest + [True, True]


def test_a_reason_names_no_more_than_a_few_broken_tasks() -> None:
    unmet = unmet_requirement(compared([[1] * 7], [[0] * 7]), confidence=None, max_regressions=2)
    assert unmet == "7 solved tasks broke (t0, t1, t2, t3, t4 and 2 more), and at most 2 may"
    assert unmet_requirement(compared([[1] * 7], [[0] * 7]), confidence=None, max_regressions=7) == ""


# Rules of the user's own

COMPARISON = compared([[1, 0]], [[0, 1]])


@pytest.mark.parametrize(
    ("returned", "verdict"),
    [(True, Verdict(accept=True)), (False, Verdict(accept=False)), ((True, "why"), Verdict(accept=True, reason="why"))],
)
def test_a_rule_says_yes_or_no_with_or_without_a_reason(returned: Any, verdict: Verdict) -> None:
    assert AcceptanceRule("rule", lambda _: returned, "").decide(COMPARISON) == verdict


@pytest.mark.parametrize("returned", [None, 1, 0.5, "yes", (True, 1), (True,), (1, "x")])
def test_what_is_no_verdict_is_an_error_and_no_guess(returned: Any) -> None:
    with pytest.raises(EnvironmentLoadError, match="the acceptance rule rule returned"):
        AcceptanceRule("rule", lambda _: returned, "").decide(COMPARISON)


def test_a_rule_that_raises_is_named() -> None:
    with pytest.raises(EnvironmentLoadError, match="the acceptance rule rule raised ZeroDivisionError"):
        AcceptanceRule("rule", lambda _: 1 // 0, "").decide(COMPARISON)


def test_a_rule_is_loaded_from_a_file_with_the_digest_of_its_bytes(tmp_path: Path) -> None:
    file = tmp_path / "rule.py"
    file.write_text("def rule(comparison):\n    return comparison.after > comparison.before\n", "utf-8")
    first = load_acceptance(f"{file}:rule")
    assert (first.name, first.decide(COMPARISON)) == ("rule", Verdict(accept=False))
    file.write_text("def rule(comparison):\n    return True\n", "utf-8")
    second = load_acceptance(f"{file}:rule")
    assert second.decide(COMPARISON).accept
    assert first.sha256 != second.sha256


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("other = 1", "defines no function 'rule'"),
        ("def rule(): pass", "cannot be called with a comparison alone"),
        ("def rule(one, two): pass", "cannot be called with a comparison alone"),
        ("async def rule(comparison): pass", "is async"),
        ("rule = 1 / 0", "ZeroDivisionError"),
    ],
)
def test_a_rule_that_cannot_be_asked_is_found_before_anything_is_paid(tmp_path: Path, code: str, message: str) -> None:
    """F38."""
    (tmp_path / "rule.py").write_text(code, "utf-8")
    with pytest.raises(EnvironmentLoadError, match=message):
        load_acceptance(f"{tmp_path / 'rule.py'}:rule")


def test_the_shipped_example_accepts_a_tie_if_it_is_shorter() -> None:
    """F38."""
    rule = load_acceptance(f"{ROOT / 'examples' / 'acceptance' / 'shorter.py'}:shorter")
    shorter = replace(COMPARISON, current_skill="long", candidate_skill="s")
    assert rule.decide(shorter) == Verdict(accept=True, reason="as high, and shorter")
    assert not rule.decide(replace(COMPARISON, current_skill="s", candidate_skill="long")).accept
    assert rule.decide(compared([[0]], [[1]])) == Verdict(accept=True, reason="higher")


def with_criteria(*shares: float) -> list[Rollout]:
    made = [rollout(number, 1) for number in range(len(shares))]
    return [
        replace(one, score=replace(one.score, criteria={"form": share}))
        for one, share in zip(made, shares, strict=True)
        if one.score is not None
    ]


@pytest.mark.parametrize(("most", "said"), [(0.1, "fell by 20.0 points, from 100.0 % to 80.0 %"), (0.2, ""), (1.0, "")])
def test_a_guard_names_by_how_much_its_criterion_fell(most: float, said: str) -> None:
    """F24; a fall of exactly so much is allowed, on exact sums: in floats, 1 - 0.8 is less than 0.2."""
    before, after = with_criteria(1.0, 1.0), with_criteria(0.9, 0.7)
    comparison = compare("current", "candidate", before, after, metric="hard", weight=0.5)
    unmet = unmet_requirement(comparison, confidence=None, max_regressions=None, guards={"form": most})
    assert said in unmet
    assert bool(unmet) == bool(said)
    assert (comparison.criteria_before, comparison.criteria_after) == ({"form": 1}, {"form": Fraction(4, 5)})
