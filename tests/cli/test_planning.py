"""The plan of a training as it is shown."""

from __future__ import annotations

import pytest

from skillopt.cli.planning import show_plan
from skillopt.run.planned import Plan, PlannedStage
from skillopt.types import Role, Usage


def stage(role: Role, calls: tuple[int, int], dollars: tuple[float | None, float | None]) -> PlannedStage:
    low, high = (Usage(count, fresh_tokens=1000 * count, output_tokens=100 * count) for count in calls)
    return PlannedStage(role, "gate" if role == "target" else "reflect", calls, (low, high), dollars)


def test_ranges_are_shown_by_stage_and_role(capsys: pytest.CaptureFixture[str]) -> None:
    stages = (stage("target", (30, 3000), (0.5, 2.25)), stage("optimizer", (7, 7), (0.0, 0.0)))
    show_plan(Plan(2, {"train": 5, "val": 3, "test": 2}, stages, ("careful",)))
    said = capsys.readouterr().out
    rows = [line.split() for line in said.splitlines()]
    assert ["gate", "target", "30-3,000", "30.0k-3.0M", "3.0k-300.0k", "0.50-2.25"] in rows
    assert ["all", "target", "30-3,000", "30.0k-3.0M", "3.0k-300.0k", "0.50-2.25"] in rows
    assert ["reflect", "optimizer", "7", "7.0k", "700", "0.00"] in rows
    assert "Plan: 2 steps; tasks: train 5, val 3, test 2." in said
    assert "warning: careful" in said and "unknown:" not in said


def test_an_unknown_price_says_what_can_be_done(capsys: pytest.CaptureFixture[str]) -> None:
    """F11"""
    show_plan(Plan(1, {"train": 1, "val": 1, "test": 1}, (stage("target", (1, 2), (None, None)),), ()))
    said = capsys.readouterr().out
    assert "Plan: 1 step;" in said
    assert "unknown: no public price is known for that model; set model.target.price" in said
