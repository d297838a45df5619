"""What the gate decides."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from skillopt.types import Action, Decision


@pytest.mark.parametrize("action", Action)
def test_only_the_three_accepting_actions_change_the_current_skill(action: Action) -> None:
    decision = Decision(action, "why", Fraction(1, 2))
    assert decision.accepted == (action.value in {"accept_new_best", "accept", "force_accept"})


@pytest.mark.parametrize(
    ("candidate", "bound", "lost_by"),
    [
        (Fraction(1, 4), Fraction(1, 4), Fraction(1, 4)),
        (None, Fraction(1, 3), Fraction(1, 6)),
        (Fraction(1, 2), Fraction(1, 2), Fraction(0)),
        (Fraction(1), Fraction(1), Fraction(0)),
        (None, None, Fraction(0)),
    ],
)
def test_the_margin_is_what_was_lost_at_least(
    candidate: Fraction | None, bound: Fraction | None, lost_by: Fraction
) -> None:
    assert Decision(Action.REJECT, "", Fraction(1, 2), candidate, bound).lost_by == lost_by


def test_the_actions_have_the_public_names() -> None:
    """REFERENCE, appendix C; `skip_unmeasured` is ours: no verdict on what could not be measured."""
    assert {action.value for action in Action} == {
        "accept_new_best",
        "accept",
        "reject",
        "force_accept",
        "skip_no_patches",
        "skip_no_change",
        "skip_no_rewrite",
        "skip_unmeasured",
        "no_content",
        "skip_repeated",
        "deferred",
    }


def test_the_optimizer_reads_the_reason_without_tasks_where_there_is_one() -> None:
    decision = Decision(Action.REJECT, "1 task broke (t4)", Fraction(1, 2))
    assert decision.told == "1 task broke (t4)"
    assert replace(decision, without_tasks="1 task broke").told == "1 task broke"
