"""The keys of a rollout and of its trajectory."""

from __future__ import annotations

from typing import Any

import pytest

from skillopt.environments.base import Presentation
from skillopt.evaluation.keys import measurement_protocol, rollout_key, trajectory_key
from skillopt.types import Message

PROTOCOL = measurement_protocol({"name": "qa", "version": "1"}, {"harness": "chat"})
WHOLE: dict[str, Any] = {"skill_digest": "s", "task_digest": "t", "repeat": 0}


@pytest.mark.parametrize("change", [{"skill_digest": "s2"}, {"task_digest": "t2"}, {"repeat": 1}])
def test_all_that_determines_a_rollout_is_in_its_key(change: dict[str, Any]) -> None:
    """More 1."""
    assert rollout_key(PROTOCOL, **WHOLE) != rollout_key(PROTOCOL, **(WHOLE | change))
    assert rollout_key(PROTOCOL, **WHOLE) == rollout_key(PROTOCOL, **WHOLE)


def test_another_environment_harness_or_target_makes_other_keys() -> None:
    keys = {
        rollout_key(measurement_protocol(environment, harness), **WHOLE)
        for environment in ({"name": "qa", "version": "1"}, {"name": "qa", "version": "2"})
        for harness in ({"harness": "chat", "target": {"model": "a"}}, {"harness": "chat", "target": {"model": "b"}})
    }
    assert len(keys) == 4


def test_the_parts_of_a_key_cannot_run_into_each_other() -> None:
    one = rollout_key(PROTOCOL, skill_digest="ab", task_digest="c", repeat=0)
    assert one != rollout_key(PROTOCOL, skill_digest="a", task_digest="bc", repeat=0)


@pytest.mark.parametrize(
    "change",
    [
        {"skill_digest": "s2"},
        {"task_digest": "t2"},
        {"repeat": 1},
        {"presentation": Presentation((Message("user", "q2"),))},
        {"presentation": Presentation((Message("system", "q"),))},
    ],
)
def test_all_that_determines_a_trajectory_is_in_its_key(change: dict[str, Any]) -> None:
    """More 1."""
    whole: dict[str, Any] = {**WHOLE, "presentation": Presentation((Message("user", "q"),))}
    harness: dict[str, Any] = {"harness": "chat", "target": {"model": "a"}}
    assert trajectory_key(harness, **whole) == trajectory_key(dict(harness), **whole)
    assert trajectory_key(harness, **(whole | change)) != trajectory_key(harness, **whole)
    assert trajectory_key({**harness, "target": {"model": "b"}}, **whole) != trajectory_key(harness, **whole)
