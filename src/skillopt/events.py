"""What happens in a run, as typed values.

One append-only log in the run directory holds them (`run/event_log.py`), and everything that watches a run subscribes
to it. An observer may not change a run. Every start of a run plays the loop from the beginning, so a reader that meets
`RunStarted` forgets what it knew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from skillopt.types import JsonValue


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A process begins to play the run.

    Attributes:
        run_directory: Name of the directory, without its parents.
        total_steps: Steps over all epochs.
        num_epochs: Epochs.
        tasks: Number of tasks by split.
        models: `provider:model` by role.
        simulated: Whether any model is simulated, so that its numbers say nothing of real models.
        limits: Every limit that is set, by its key, such as `limits.target.calls`.
        forked_from: Name of the run directory that a fork shares with; "" for a run that is none.
        shared: What a fork has from there: numbers of replies, trajectories and rollouts.
        matching: How many of those replies and rollouts may answer it, by its models, tasks and environment.
    """

    run_directory: str
    total_steps: int
    num_epochs: int
    tasks: Mapping[str, int]
    models: Mapping[str, str]
    simulated: bool
    limits: Mapping[str, float] = field(default_factory=dict[str, float])
    forked_from: str = ""
    shared: Mapping[str, int] = field(default_factory=dict[str, int])
    matching: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class StageStarted:
    """A stage begins; `total` counts its tasks, reflections or merges, 0 where there is nothing to count."""

    stage: str
    epoch: int
    step: int
    total: int = 0


@dataclass(frozen=True, slots=True)
class StageProgress:
    """One more of a stage's tasks, reflections or merges is done.

    Attributes:
        stage: The stage.
        epoch: From 1.
        step: From 1.
        done: Done so far.
        total: As far as is known.
        detail: The task's id or the like; hostile text, to be shown as text.
        outcome: What came of it.
        recorded: Whether the evidence answered, so that nothing was paid.
    """

    stage: str
    epoch: int
    step: int
    done: int
    total: int
    detail: str = ""
    outcome: Literal["solved", "failed", "unmeasured", "done", "dropped"] = "done"
    recorded: bool = False


@dataclass(frozen=True, slots=True)
class Spent:
    """Running totals of what this play of the run paid and used, by role.

    Attributes:
        paid_calls: Calls paid by this process, by role.
        used_calls: Calls whose replies the run used so far, paid now or earlier, by role.
        used_tokens: All tokens of those, by role.
        dollars: Their price, by role; None where a price is unknown.
        billed_calls: Calls paid by all starts of the run, by role: what limits count.
        billed_tokens: All tokens of those, by role.
        billed_dollars: Their price, by role; None where a price is unknown.
    """

    paid_calls: Mapping[str, int]
    used_calls: Mapping[str, int]
    used_tokens: Mapping[str, int]
    dollars: Mapping[str, float | None]
    billed_calls: Mapping[str, int] = field(default_factory=dict[str, int])
    billed_tokens: Mapping[str, int] = field(default_factory=dict[str, int])
    billed_dollars: Mapping[str, float | None] = field(default_factory=dict[str, float | None])


@dataclass(frozen=True, slots=True)
class StepCommitted:
    """A step (or the baseline, step 0) is final.

    Attributes:
        record: Its entry in history.json.
        edits: Each selected edit in a few words: `operation`, `status`, and `text`, the beginning of what it writes or
            deletes; hostile, to be shown as text. The whole of it is in edit_apply_report.json.
    """

    record: Mapping[str, JsonValue]
    edits: Sequence[Mapping[str, str]] = field(default_factory=list[Mapping[str, str]])


@dataclass(frozen=True, slots=True)
class EpochStageCommitted:
    """A stage between epochs is final.

    Attributes:
        stage: `slow_update` or `meta_skill`.
        epoch: The epoch that ended.
        record: The entry of the epoch's last step in history.json, written anew; it holds the stage under its name.
    """

    stage: str
    epoch: int
    record: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Warned:
    """Something a person should know, once."""

    message: str


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over; `state` is one of the end states, `summary` what summary.json holds."""

    state: str
    message: str
    summary: Mapping[str, JsonValue]


Event: TypeAlias = (
    RunStarted | StageStarted | StageProgress | Spent | StepCommitted | EpochStageCommitted | Warned | RunEnded
)
