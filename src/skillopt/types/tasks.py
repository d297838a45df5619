"""What the target was given, what it did and how it was scored."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, cast

from skillopt.digests import digest

JsonValue: TypeAlias = "bool | int | float | str | list[JsonValue] | dict[str, JsonValue] | None"

Role: TypeAlias = Literal["target", "optimizer"]
"""The two models of the method: the target does tasks, the optimizer edits the skill."""

SplitName: TypeAlias = Literal["train", "val", "test"]
"""The three parts of the data; `val` is the selection split."""

SourceType: TypeAlias = Literal["failure", "success"]
"""Which kind of trajectories an edit was proposed from."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the run something was asked; part of the key of every optimizer reply.

    Attributes:
        stage: The method's word: baseline, rollout, reflect, aggregate, select, update, vet, appendix_consolidate,
            gate, slow_update, meta_skill, final, test; `check` for the preflight.
        epoch: From 1; 0 before training.
        step: From 1 over the whole run; 0 before training.
        index: Tells calls of one stage apart, in an order fixed by the method and not by who finishes first.
        attempt: 0, then 1 for the one request to mend an unreadable reply.
    """

    stage: str
    epoch: int = 0
    step: int = 0
    index: int = 0
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more model calls.

    Attributes:
        calls: Number of replies that came.
        fresh_tokens: Input tokens that were not served from the provider's cache.
        cached_tokens: Input tokens served from the provider's cache.
        output_tokens: Generated tokens, reasoning included.
    """

    calls: int = 0
    fresh_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.calls + other.calls,
            self.fresh_tokens + other.fresh_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
        )

    @property
    def tokens(self) -> int:
        """All tokens, in and out."""
        return self.fresh_tokens + self.cached_tokens + self.output_tokens


@dataclass(frozen=True)
class Task:
    """One data item.

    Attributes:
        id: Unique over all splits; any script, any characters; never used raw as a path.
        fields: The item's fields after field mapping, such as `question` and `answer`. Read-only.
        category: What kind of task it is, for reports; "" where the data does not say.
        location: File and line the task was read from, for messages; not part of what the task is.
    """

    id: str
    fields: Mapping[str, JsonValue]
    category: str = ""
    location: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", MappingProxyType(dict(self.fields)))

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def digest(self) -> str:
        """Digest of the content: id, category and fields, never where it was read from."""
        return digest({"id": self.id, "category": self.category, "fields": dict(self.fields)})


@dataclass(frozen=True, slots=True)
class Trajectory:
    """What the target did on one task.

    Attributes:
        turns: The conversation without the skill: what the target was asked, what it said and, for a harness with
            tools, what the tools answered.
        output: The target's final message, whole.
        finish_reason: Why the final message ended: "stop", "length" (cut at its token limit), "content_filter"
            (withheld by the provider), or the provider's own word.
        usage: Tokens of all calls that made this trajectory.
        seconds: Wall time; a clock reading, so it never reaches anything that two runs must have in common.
    """

    turns: tuple[Message, ...]
    output: str
    finish_reason: str = "stop"
    usage: Usage = Usage()
    seconds: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Score:
    """How well a trajectory did its task.

    Attributes:
        hard: 1 if the task is solved, else 0.
        soft: Partial credit, 0 to 1.
        feedback: One or two sentences that say what was expected and what came; the optimizer reads them.
        predicted: The answer that was found in the trajectory, for reports; "" where there was none.
        expected: The answer that was expected, as a person would write it; "" where there is no such answer, and then
            the optimizer reads the feedback in its place.
        note: What the feedback says beyond those two answers, such as which fields differ; "" where nothing.
        criteria: What the task was scored on besides, by name, 0 to 1 each; a truth value counts as 0 or 1. The gate
            can decide on one of them and guard others (`evaluation.criterion`, `evaluation.guards`). Read-only.

    Raises:
        ValueError: If `hard` is neither 0 nor 1, or `soft` or a criterion is not a number within 0 and 1.
        TypeError: If one of the texts is no text, or the criteria are no mapping of names to numbers.
    """

    hard: int
    soft: float
    feedback: str = ""
    predicted: str = ""
    expected: str = ""
    note: str = ""
    criteria: Mapping[str, float] = field(default_factory=dict[str, float], hash=False)

    def __post_init__(self) -> None:
        if self.hard not in (0, 1):
            raise ValueError(f"hard is {self.hard!r}; it must be 0 or 1")
        if not (math.isfinite(self.soft) and 0.0 <= self.soft <= 1.0):
            raise ValueError(f"soft is {self.soft!r}; it must be a number from 0 to 1")
        for name in ("feedback", "predicted", "expected", "note"):
            text: object = getattr(self, name)
            if not isinstance(text, str):
                raise TypeError(f"{name} is {text!r:.100}; it must be a text")
        object.__setattr__(self, "hard", int(self.hard))
        object.__setattr__(self, "soft", float(self.soft))
        object.__setattr__(self, "criteria", _criteria(self.criteria))


def _criteria(given: Any) -> Mapping[str, float]:
    """Return criteria in the order of their names, so that a score does not depend on the order they were found in."""
    if not isinstance(given, Mapping):
        raise TypeError(f"criteria is {given!r:.100}; it must be a mapping of names to numbers")
    criteria = dict(cast("Mapping[Any, Any]", given))
    for name, value in criteria.items():
        if not isinstance(name, str) or not name:
            raise TypeError(f"a criterion is named {name!r:.100}; it must be a text that is not empty")
        if not isinstance(value, int | float):
            raise TypeError(f"criterion {name!r:.100} is {value!r:.100}; it must be a number")
        if not (math.isfinite(value) and 0 <= value <= 1):
            raise ValueError(f"criterion {name!r:.100} is {value!r}; it must be a number from 0 to 1")
    return MappingProxyType({name: float(criteria[name]) for name in sorted(criteria)})


@dataclass(frozen=True, slots=True)
class Criterion:
    """One criterion of a score, as what is compared in place of the score itself."""

    name: str

    def __str__(self) -> str:
        return f"criterion {self.name}"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something could not be measured. A failure is never a score.

    Attributes:
        kind: "timeout" where the time for it was over, else "error".
        stage: Where it happened: "present", "target", "score"; for a reply that a stage went on without, that stage.
        error_type: Name of the exception's class.
        message: The provider's or the code's own words.
    """

    kind: Literal["error", "timeout"]
    stage: str
    error_type: str
    message: str


@dataclass(frozen=True, slots=True)
class Rollout:
    """One task done once with one skill: a trajectory and its score, or the failure that kept it from being measured.

    Raises:
        ValueError: Unless it has either a trajectory and a score, or a failure.
    """

    task: Task
    skill_digest: str
    repeat: int = 0
    trajectory: Trajectory | None = None
    score: Score | None = None
    failure: Failure | None = None

    def __post_init__(self) -> None:
        if (self.score is None) == (self.failure is None) or (self.score is not None and self.trajectory is None):
            raise ValueError(f"task {self.task.id!r}: a rollout holds a trajectory and a score, or a failure")

    @property
    def measured(self) -> bool:
        """Whether there is a score."""
        return self.score is not None
