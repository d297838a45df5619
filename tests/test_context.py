"""What a stage may ask of the run."""

from __future__ import annotations

import inspect

import pytest

from skillopt.context import StageContext
from skillopt.run.run import Run

MEMBERS = [name for name in vars(StageContext) if not name.startswith("_")]


@pytest.mark.parametrize("name", MEMBERS)
def test_the_run_offers_what_the_protocol_promises(name: str) -> None:
    promised, offered = getattr(StageContext, name), getattr(Run, name)
    assert type(promised) is type(offered)
    if not isinstance(promised, property):
        assert inspect.signature(promised) == inspect.signature(offered)


def test_a_stage_sees_no_more_than_these() -> None:
    """The run's files, evidence and spending are not a stage's business."""
    assert sorted(MEMBERS) == [
        "acceptance", "ask", "commit_meta_skill", "commit_slow_update", "config", "count", "emit", "ends_epoch",
        "ends_training", "environment", "measure", "random", "saturated", "selection", "training",
    ]  # fmt: skip
