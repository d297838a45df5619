"""One chat turn of the target."""

from __future__ import annotations

import pytest

from skillopt.environments.base import Presentation
from skillopt.errors import TransientModelError
from skillopt.harness.chat import ChatHarness
from skillopt.models.base import ChatReply
from skillopt.simulation.scripted import ScriptedModel
from skillopt.types import Message, Place, Usage

QUESTION = Presentation((Message("user", "q1"),))
PLACE = Place("rollout", 1, 2)


async def test_the_skill_is_the_system_message_and_nothing_stands_ahead_of_it() -> None:
    """A prefix cache can serve the skill: two tasks share all that comes before the task."""
    target = ScriptedModel(["a", "b"])
    harness = ChatHarness(target)
    await harness.perform("# Skill\n", QUESTION, PLACE)
    await harness.perform("# Skill\n", Presentation((Message("user", "q2"),)), PLACE)
    assert [request.messages for request in target.requests] == [
        (Message("system", "# Skill\n"), Message("user", "q1")),
        (Message("system", "# Skill\n"), Message("user", "q2")),
    ]
    assert target.requests[0].place == PLACE


@pytest.mark.parametrize("skill", ["", " \n"])
async def test_an_empty_skill_is_no_message(skill: str) -> None:
    target = ScriptedModel(["a"])
    await ChatHarness(target).perform(skill, QUESTION, PLACE)
    assert target.requests[0].messages == (Message("user", "q1"),)


async def test_the_trajectory_holds_the_conversation_without_the_skill() -> None:
    """More 19: the optimizer's prompt holds the skill once."""
    usage = Usage(1, 10, 5, 2)
    target = ScriptedModel([ChatReply("half an ans", finish_reason="length", reasoning="hm", usage=usage)])
    trajectory = await ChatHarness(target).perform("# Skill\n", QUESTION, PLACE)
    assert trajectory.turns == (Message("user", "q1"), Message("assistant", "half an ans"))
    assert (trajectory.output, trajectory.finish_reason, trajectory.usage) == ("half an ans", "length", usage)


async def test_a_provider_that_fails_is_an_error_and_never_an_answer() -> None:
    """F1, F3."""
    with pytest.raises(TransientModelError, match="overloaded"):
        await ChatHarness(ScriptedModel([TransientModelError("overloaded")])).perform("", QUESTION, PLACE)


def test_who_did_a_task_is_part_of_the_identity() -> None:
    one, other = (ChatHarness(ScriptedModel([], name=name)).identity for name in ("one", "other"))
    assert one["harness"] == "chat"
    assert one != other
