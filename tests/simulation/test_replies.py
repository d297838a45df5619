"""What the simulated models have in common."""

from __future__ import annotations

import math

import pytest

from skillopt.models.base import ChatRequest
from skillopt.simulation.replies import require_share, simulated_identity, simulated_reply
from skillopt.simulation.world import World
from skillopt.skill.size import estimate_tokens
from skillopt.types import Message, Place


def test_an_identity_names_itself_as_simulated_with_its_world_and_settings() -> None:
    identity = simulated_identity("target", World(7), {"noise": 0.0})
    assert identity["provider"] == "simulated"
    assert identity["simulated"] is True
    assert identity["world"] == dict(World(7).identity)
    assert identity["settings"] == {"noise": 0.0}


def test_usage_is_estimated_from_what_was_asked_and_said() -> None:
    request = ChatRequest((Message("system", "a skill " * 40), Message("user", "a task")), Place("rollout"))
    usage = simulated_reply(request, "an answer " * 9).usage
    assert usage.calls == 1
    assert usage.fresh_tokens == estimate_tokens("a skill " * 40) + estimate_tokens("a task") > 0
    assert usage.output_tokens == estimate_tokens("an answer " * 9) > 0
    assert usage.cached_tokens == 0


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf])
def test_a_share_out_of_its_range_is_refused_by_name(value: float) -> None:
    with pytest.raises(ValueError, match="noise is"):
        require_share("noise", value)
