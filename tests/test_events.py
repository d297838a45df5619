"""What happens in a run, as typed values."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args

import pytest

from skillopt.events import (
    EpochStageCommitted,
    Event,
    RunEnded,
    RunStarted,
    Spent,
    StageProgress,
    StageStarted,
    StepCommitted,
    Warned,
)

EVENTS = [
    RunStarted("run", 8, 4, {"train": 3}, {"target": "simulated:target"}, simulated=True, limits={"limits.calls": 9.0}),
    StageStarted("gate", 1, 2, 8),
    StageProgress("gate", 1, 2, 1, 8, detail="t1 <b>", outcome="solved", recorded=True),
    Spent(
        {"target": 1}, {"target": 2}, {"target": 30}, {"target": None}, {"target": 4}, {"target": 90}, {"target": None}
    ),
    StepCommitted({"step": 1, "val_acc": 0.5}, [{"operation": "append", "status": "applied", "text": "- a <b>"}]),
    EpochStageCommitted("slow_update", 2, {"step": 1, "slow_update": {"action": "reject"}}),
    Warned("a sentence"),
    RunEnded("improved", "read it", {"state": "improved"}),
]


def test_every_kind_of_event_is_among_the_examples() -> None:
    assert {type(event) for event in EVENTS} == set(get_args(Event))


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_plain_data_that_json_holds(event: Any) -> None:
    fields = dataclasses.asdict(event)
    assert json.loads(json.dumps(fields)) == fields


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_observer_cannot_change_an_event(event: Any) -> None:
    name = dataclasses.fields(event)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(event, name, None)
