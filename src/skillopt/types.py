"""The frozen values that travel between the stages of a training step.

They say what happened and hold no behaviour beyond keeping themselves consistent. JSON forms of them exist only in
`run/` (evidence, history) and `models/` (the wire).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Literal, TypeAlias

from skillopt.digests import digest

JsonValue: TypeAlias = "None | bool | int | float | str | list[JsonValue] | dict[str, JsonValue]"

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
        stage: The method's word: baseline, rollout, reflect, aggregate, select, update, gate, slow_update, meta_skill,
            test; `check` for the preflight.
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
        finish_reason: Why the final message ended, in the provider's word: "stop", "length", ...
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

    Raises:
        ValueError: If `hard` is neither 0 nor 1, or `soft` is not a number within 0 and 1.
    """

    hard: int
    soft: float
    feedback: str = ""
    predicted: str = ""

    def __post_init__(self) -> None:
        if self.hard not in (0, 1):
            raise ValueError(f"hard is {self.hard!r}; it must be 0 or 1")
        if not (math.isfinite(self.soft) and 0.0 <= self.soft <= 1.0):
            raise ValueError(f"soft is {self.soft!r}; it must be a number from 0 to 1")
        object.__setattr__(self, "hard", int(self.hard))
        object.__setattr__(self, "soft", float(self.soft))


@dataclass(frozen=True, slots=True)
class Failure:
    """Why something could not be measured. A failure is never a score.

    Attributes:
        kind: "timeout" where the task's deadline passed, else "error".
        stage: Where it happened: "target", "score".
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


class EditOperation(StrEnum):
    """What an edit does at its target."""

    APPEND = "append"
    INSERT_AFTER = "insert_after"
    INSERT_BEFORE = "insert_before"
    REPLACE = "replace"
    DELETE = "delete"


class EditState(StrEnum):
    """The one end of an edit."""

    APPLIED = "applied"
    UNMATCHED = "unmatched"
    AMBIGUOUS = "ambiguous"
    PROTECTED = "protected"
    DUPLICATE = "duplicate"
    INVALID = "invalid"
    OVER_BUDGET = "over_budget"


@dataclass(frozen=True, slots=True)
class Edit:
    """One bounded change of the skill, as the optimizer proposed it.

    Attributes:
        operation: What to do.
        target: The text to find; "" for append.
        content: The text to put in; "" for delete.
        support_count: How many proposals this edit stands for after merging; at least 1.
        source_type: The kind of trajectories it came from.
        task_ids: Ids of the tasks whose trajectories were before the optimizer's eyes when it proposed the edit.
        merge_level: How many merges it went through.
    """

    operation: EditOperation
    target: str = ""
    content: str = ""
    support_count: int = 1
    source_type: SourceType = "failure"
    task_ids: tuple[str, ...] = ()
    merge_level: int = 0


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """How an edit ended.

    Attributes:
        edit: The edit.
        state: Its one end.
        detail: What a person needs to know about it, such as "found in 2 places: lines 4 and 9".
        repaired: Whether it was applied only after a repair request to the optimizer.
    """

    edit: Edit
    state: EditState
    detail: str = ""
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Patch:
    """Edits that were proposed together, with the reasoning for them.

    Attributes:
        reasoning: Why, in the optimizer's words.
        edits: In the optimizer's order.
        source_type: "failure" if any failure was behind it.
        task_ids: Ids of the tasks behind it.
        patterns: What kinds of failure or success the optimizer saw, one line each.
        merge_level: 0 for a patch from reflect, else the level of the merge that made it.
    """

    reasoning: str
    edits: tuple[Edit, ...]
    source_type: SourceType
    task_ids: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    merge_level: int = 0


@dataclass(frozen=True, slots=True)
class SignTest:
    """The exact sign test on the tasks whose score changed between two skills.

    Attributes:
        better: Tasks on which the candidate scored higher.
        worse: Tasks on which it scored lower.
        p_value: One-sided: the chance of at least `better` of `better + worse` if either were equally likely; 1.0
            where no task changed.
    """

    better: int
    worse: int
    p_value: float


class Action(StrEnum):
    """What a step did to the current skill. The first four are the public names."""

    ACCEPT_NEW_BEST = "accept_new_best"
    ACCEPT = "accept"
    REJECT = "reject"
    FORCE_ACCEPT = "force_accept"
    SKIP_NO_PATCHES = "skip_no_patches"
    SKIP_NO_CHANGE = "skip_no_change"
    SKIP_UNMEASURED = "skip_unmeasured"


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's verdict on a candidate.

    Attributes:
        action: What happens to the current skill.
        reason: Why, in words, with the numbers.
        current_score: Gate score of the current skill, a mean over the selection tasks, 0 to 1.
        candidate_score: Gate score of the candidate; None where the gate stopped early or measured nothing.
        upper_bound: The highest gate score the candidate could still have reached; None where nothing was measured.
        measured: Selection tasks measured with the candidate.
        total: Selection tasks there are.
        sign_test: On the tasks measured with both skills; None where there were none.
        rollouts: What was measured, in the gate's order.
    """

    action: Action
    reason: str
    current_score: Fraction
    candidate_score: Fraction | None = None
    upper_bound: Fraction | None = None
    measured: int = 0
    total: int = 0
    sign_test: SignTest | None = None
    rollouts: tuple[Rollout, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether the candidate becomes the current skill."""
        return self.action in (Action.ACCEPT, Action.ACCEPT_NEW_BEST, Action.FORCE_ACCEPT)
