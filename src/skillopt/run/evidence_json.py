"""The JSON forms of what the evidence store keeps.

Each value comes back exactly as it went in: floats to the last bit, texts to the last character. The texts are ASCII,
so half of a surrogate pair, which a cut reply can end in, survives too. Reading raises `ValueError`, `KeyError`,
`TypeError` or `AttributeError` where a text is damaged; the store turns them into one clear error.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from typing import Any

from skillopt.models.base import ChatReply, ChatRequest, ReplySchema
from skillopt.types import Failure, Message, Place, Rollout, Score, Task, Trajectory, Usage


def request_to_json(request: ChatRequest) -> str:
    """Return what was asked: messages and schema. The place stands in the table's columns."""
    schema = request.schema
    return _dump(
        {
            "messages": [asdict(message) for message in request.messages],
            "schema": None if schema is None else {"name": schema.name, "schema": dict(schema.schema)},
        }
    )


def request_from_json(text: str, place: Place) -> ChatRequest:
    """Read what was asked at a place."""
    record = _load(text)
    schema = record["schema"]
    messages = tuple(Message(**message) for message in record["messages"])
    return ChatRequest(messages, place, None if schema is None else ReplySchema(schema["name"], schema["schema"]))


def reply_to_json(reply: ChatReply) -> str:
    """Return a reply as JSON, but for the name that its model gives itself, on which nothing depends."""
    record = asdict(reply)
    del record["model"]
    return _dump(record)


def reply_from_json(text: str) -> ChatReply:
    """Read a reply."""
    record = _load(text)
    record["usage"] = Usage(**record["usage"])
    return ChatReply(**record)


def rollout_to_json(rollout: Rollout) -> str:
    """Return a rollout as JSON, with its task's id and digest in place of the task, whose fields can be long."""
    return _dump(
        {
            "task_id": rollout.task.id,
            "task_digest": rollout.task.digest,
            "skill_digest": rollout.skill_digest,
            "repeat": rollout.repeat,
            "trajectory": None if rollout.trajectory is None else asdict(rollout.trajectory),
            "score": None if rollout.score is None else _score(rollout.score),
            "failure": None if rollout.failure is None else asdict(rollout.failure),
        }
    )


def rollout_from_json(text: str, task: Task) -> Rollout:
    """Read the rollout of a task.

    Raises:
        ValueError: If the rollout belongs to another task, or the text is damaged.
    """
    record = _load(text)
    if record["task_digest"] != task.digest:
        raise ValueError(f"the rollout belongs to task {record['task_id']!r}, not to this {task.id!r}")
    return Rollout(
        task,
        record["skill_digest"],
        record["repeat"],
        trajectory=None if record["trajectory"] is None else _trajectory(record["trajectory"]),
        score=None if record["score"] is None else Score(**record["score"]),
        failure=None if record["failure"] is None else Failure(**record["failure"]),
    )


def trajectory_to_json(trajectory: Trajectory) -> str:
    """Return a trajectory as JSON."""
    return _dump(asdict(trajectory))


def trajectory_from_json(text: str) -> Trajectory:
    """Read a trajectory."""
    return _trajectory(_load(text))


def failure_to_json(failure: Failure) -> str:
    """Return a failure as JSON."""
    return _dump(asdict(failure))


def failure_from_json(text: str) -> Failure:
    """Read a failure."""
    return Failure(**_load(text))


def _score(score: Score) -> dict[str, Any]:
    """Return a score as a JSON object; criteria are named only where there are some."""
    record = {field.name: getattr(score, field.name) for field in fields(score) if field.name != "criteria"}
    return {**record, "criteria": dict(score.criteria)} if score.criteria else record


def _trajectory(record: dict[str, Any]) -> Trajectory:
    record["turns"] = tuple(Message(**turn) for turn in record["turns"])
    record["usage"] = Usage(**record["usage"])
    return Trajectory(**record)


def _dump(record: dict[str, Any]) -> str:
    return json.dumps(record, separators=(",", ":"), allow_nan=False)


def _load(text: str) -> dict[str, Any]:
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no value")
