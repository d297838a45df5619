"""What goes into the evidence comes back exactly."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.models.base import ChatReply, ChatRequest, ReplySchema
from skillopt.run.evidence_json import (
    failure_from_json,
    failure_to_json,
    reply_from_json,
    reply_to_json,
    request_from_json,
    request_to_json,
    rollout_from_json,
    rollout_to_json,
    trajectory_from_json,
    trajectory_to_json,
)
from skillopt.types import Failure, JsonValue, Message, Place, Rollout, Score, Task, Trajectory, Usage

COUNTS = st.integers(0, 2**70)
USAGE = st.builds(Usage, COUNTS, COUNTS, COUNTS, COUNTS)
MESSAGES = st.builds(Message, st.sampled_from(["system", "user", "assistant", "tool"]), st.text())
TRAJECTORIES = st.builds(
    Trajectory,
    st.lists(MESSAGES, max_size=3).map(tuple),
    st.text(),
    st.text(),
    USAGE,
    st.floats(allow_nan=False, allow_infinity=False),
)
CRITERIA = st.dictionaries(st.text(min_size=1), st.floats(0, 1), max_size=3)
SCORES = st.builds(Score, st.sampled_from([0, 1]), st.floats(0, 1), st.text(), st.text(), criteria=CRITERIA)
FAILURES = st.builds(Failure, st.sampled_from(["error", "timeout"]), st.text(), st.text(), st.text())
JSON: st.SearchStrategy[JsonValue] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
TASKS = st.builds(Task, st.text(), st.dictionaries(st.text(), JSON, max_size=3), st.text())
ROLLOUTS = st.builds(Rollout, TASKS, st.text(), st.integers(0, 9), trajectory=TRAJECTORIES, score=SCORES) | st.builds(
    Rollout, TASKS, st.text(), st.integers(0, 9), failure=FAILURES
)
REPLIES = st.builds(ChatReply, st.text(), st.text(), st.text(), USAGE)


@given(TRAJECTORIES)
def test_a_trajectory_comes_back_exactly(trajectory: Trajectory) -> None:
    back = trajectory_from_json(trajectory_to_json(trajectory))
    assert (back, back.seconds) == (trajectory, trajectory.seconds)


@given(ROLLOUTS)
def test_a_rollout_comes_back_exactly(rollout: Rollout) -> None:
    """More 3: a score of 0.0 is a score, and floats keep their last bit."""
    back = rollout_from_json(rollout_to_json(rollout), rollout.task)
    assert back == rollout
    assert back.measured == rollout.measured
    if rollout.trajectory is not None and back.trajectory is not None:
        assert back.trajectory.seconds == rollout.trajectory.seconds, "a clock reading, kept though not compared"
    if rollout.score is not None and back.score is not None:
        assert type(back.score.hard) is int
        assert back.score.soft.hex() == rollout.score.soft.hex()


def test_a_score_without_criteria_is_written_as_it_was_before_there_were_any() -> None:
    """What was paid before stays readable, and its bytes too."""
    rollout = Rollout(Task("t", {}), "digest", trajectory=Trajectory((), ""), score=Score(1, 1.0))
    assert "criteria" not in rollout_to_json(rollout)


@given(REPLIES)
def test_a_reply_comes_back_exactly(reply: ChatReply) -> None:
    assert reply_from_json(reply_to_json(reply)) == reply


@given(FAILURES)
def test_a_failure_comes_back_exactly(failure: Failure) -> None:
    assert failure_from_json(failure_to_json(failure)) == failure


def test_half_of_a_surrogate_pair_survives() -> None:
    """A reply that is cut inside an emoji can end so."""
    reply = ChatReply("smile \ud83d", finish_reason="length")
    text = reply_to_json(reply)
    assert text.isascii()
    assert reply_from_json(text) == reply


def test_a_request_is_written_whole_and_comes_back() -> None:
    schema: Mapping[str, JsonValue] = {"type": "object"}
    request = ChatRequest((Message("user", "é"),), Place("reflect"), schema=ReplySchema("x", schema))
    assert request_to_json(request) == (
        '{"messages":[{"role":"user","content":"\\u00e9"}],"schema":{"name":"x","schema":{"type":"object"}}}'
    )
    for asked in (request, ChatRequest((), Place("select", 1, 2, 3, 4))):
        assert request_from_json(request_to_json(asked), asked.place) == asked


ROLLOUT = Rollout(Task("t", {"q": 1}), "s", trajectory=Trajectory((), "o"), score=Score(1, 1.0))


def test_a_rollout_of_another_task_is_not_mistaken_for_this_one() -> None:
    with pytest.raises(ValueError, match="belongs to task 't'"):
        rollout_from_json(rollout_to_json(ROLLOUT), Task("t", {"q": 2}))


def test_what_is_no_number_is_neither_written_nor_read() -> None:
    """More 3: a missing or NaN score is not a score."""
    timed = Rollout(ROLLOUT.task, "s", trajectory=Trajectory((), "o", seconds=math.nan), score=ROLLOUT.score)
    with pytest.raises(ValueError, match="JSON compliant"):
        rollout_to_json(timed)
    text = rollout_to_json(ROLLOUT)
    for bad in ("NaN", "Infinity", "2.0", "null", '"1"'):
        with pytest.raises((ValueError, TypeError)):
            rollout_from_json(text.replace('"soft":1.0', f'"soft":{bad}'), ROLLOUT.task)


def test_a_score_is_needed_for_a_measured_rollout() -> None:
    with pytest.raises(ValueError, match="a trajectory and a score, or a failure"):
        rollout_from_json(rollout_to_json(ROLLOUT).replace('"score":{', '"score":null,"old":{'), ROLLOUT.task)


def test_which_model_answered_is_not_evidence() -> None:
    """A provider may call the same model otherwise tomorrow; replies that say the same are equal."""
    reply = ChatReply("yes", model="m-2026-01-01")
    assert reply_to_json(reply) == reply_to_json(ChatReply("yes"))
    assert reply_from_json(reply_to_json(reply)) == reply
    assert reply_from_json(reply_to_json(reply)).model == ""
