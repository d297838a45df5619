"""Sums over a plan."""

from __future__ import annotations

from skillopt.run.planned import Plan, PlannedStage
from skillopt.types import Usage


def test_the_calls_of_a_role_are_the_sums_of_its_stages_at_both_ends() -> None:
    stages = tuple(
        PlannedStage(role, "stage", calls, (Usage(), Usage()), (0.0, 0.0))
        for role, calls in (("target", (1, 5)), ("optimizer", (0, 7)), ("target", (2, 2)))
    )
    plan = Plan(3, {"train": 1}, stages, ())
    assert (plan.calls("target"), plan.calls("optimizer")) == ((3, 7), (0, 7))
