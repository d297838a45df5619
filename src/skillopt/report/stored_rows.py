"""What stands in the files of a run directory, as frozen values; the fields are the files' own.

docs/run_directory.md says more of them. All text in them comes from tasks and models: it is hostile, to be shown as
text. Fields that this version does not know are left out, so a page can be made of a run that a later one wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, field_validator

from skillopt.types import Role


class Stored(BaseModel):
    """Base of all of them."""

    model_config = ConfigDict(extra="ignore", frozen=True, allow_inf_nan=False)


class FailureRow(Stored):
    """Why a task could not be measured."""

    kind: str
    stage: str
    error_type: str
    message: str


class RolloutRow(Stored):
    """One row of a results.json: what a skill did on a task."""

    id: str
    """Of the task."""
    category: str = ""
    """What kind of task it is; "" where the data does not say."""
    repeat: int = 0
    """Tells several rollouts of one task with one skill apart."""
    status: str
    """`ok`, or why there is no score: `error` or `timeout`."""
    hard: int | None = None
    """1 where it was solved, else 0; None where it was not measured."""
    soft: float | None = None
    """Partial credit, 0 to 1; None where it was not measured."""
    criteria: Mapping[str, float] = Field(default_factory=dict)
    """Scores that the scorer names, by name."""
    predicted_answer: str = ""
    fail_reason: str = ""
    """The scorer's feedback on a task that was not solved."""
    n_turns: int = 0
    """Answers of the target."""
    finish_reason: str = ""
    response: str = ""
    """The target's last words."""
    failure: FailureRow | None = None
    """Why it was not measured; None where it was."""

    @property
    def measured(self) -> bool:
        """Whether it has a score."""
        return self.hard is not None and self.soft is not None


class VettingRow(Stored):
    """How an edit did alone on tasks that it came from: sums of their gate scores."""

    task_ids: tuple[str, ...]
    before: float
    after: float | None
    """None where not all of them could be measured."""


class EditRow(Stored):
    """An edit as it was proposed or merged."""

    op: str
    target: str = ""
    content: str = ""
    support_count: int = 1
    """How many proposals it stands for."""
    source_type: str = ""
    """`failure` or `success`: the trajectories it came from."""
    merge_level: int = 0
    task_ids: tuple[str, ...] = ()
    """The training tasks it came from."""


class EditOutcomeRow(EditRow):
    """An edit with the one state in which it ended."""

    status: str
    detail: str = ""
    repaired: bool = False
    """Whether it was applied only after a repair request."""
    vetting: VettingRow | None = None


class RewriteRow(Stored):
    """A whole skill as the optimizer wrote it anew; `status` is "" while that is open."""

    source_type: str = ""
    task_ids: tuple[str, ...] = ()
    reasoning: str = ""
    change_summary: tuple[str, ...] = ()
    new_skill: str = ""
    status: str = ""
    detail: str = ""


class DiscardedRow(Stored):
    """A proposal that went no further: as it came, and why."""

    status: str
    detail: str
    entry: str


class PatchRow(Stored):
    """Edits that were proposed or merged together."""

    source_type: str
    merge_level: int = 0
    task_ids: tuple[str, ...] = ()
    reasoning: str = ""
    edits: tuple[EditRow, ...] = ()
    discarded: tuple[DiscardedRow, ...] = ()
    skill_candidates: tuple[RewriteRow, ...] = ()


class RankedRows(Stored):
    """What selection left: the edits that survived, in their order, and those over the budget."""

    reasoning: str = ""
    edits: tuple[EditRow, ...] = ()
    over_budget: tuple[EditOutcomeRow, ...] = ()


class NoteRow(Stored):
    """A reminder for the skill's appendix; `status` is None where it was left open."""

    status: str | None
    detail: str = ""
    note: str
    source_type: str = ""
    task_ids: tuple[str, ...] = ()


class NoteRows(Stored):
    """The reminders of a step, and those that are new in its candidate."""

    notes: tuple[NoteRow, ...] = ()
    reminders: tuple[str, ...] = ()


class MemorisedRow(Stored):
    """A passage that an edit copies from a training task; `edit` is its number in the report, None for other texts."""

    edit: int | None
    status: str
    task_id: str
    ngram: str


class DroppedReplyRow(Stored):
    """A reply of the optimizer that a stage went on without; `reply` is its beginning."""

    stage: str
    index: int
    asked_again: bool = False
    reason: str
    reply: str = ""


class PairScores(Stored):
    """How a skill did on one task of a comparison."""

    hard: int
    soft: float
    predicted_answer: str = ""
    fail_reason: str = ""


class PairRow(Stored):
    """One task of the comparison of two epochs' skills: the longitudinal table."""

    id: str
    category: str
    """improved, regressed, persistent_fail or stable_success."""
    shown: bool
    """Whether the optimizer saw it."""
    prev: PairScores
    curr: PairScores


class SlowResult(Stored):
    """What a slow update wrote and what came of it."""

    reasoning: str = ""
    slow_update_content: str = ""
    """The guidance."""
    action: str
    reason: str
    current_score: float | None = None
    candidate_gate_score: float | None = None
    candidate_gate_score_upper_bound: float | None = None
    prev_hard: float | None = None
    curr_hard: float | None = None
    pairs: Mapping[str, int] = Field(default_factory=dict)
    """Compared tasks by category, `unmeasured` among them."""
    guidance_tokens: int = 0


class MetaResult(Stored):
    """The memory that the optimizer wrote itself."""

    reasoning: str = ""
    meta_skill_content: str = ""
    """The text as it came."""
    memory: str = ""
    """What the next epoch reads."""
    action: str
    """`updated`, or `kept` where no new memory came."""
    reason: str = ""
    memory_tokens: int = 0


class LedgerLine(Stored):
    """One call, as ledger.csv has it."""

    role: Role
    stage: str
    epoch: int
    step: int
    index: int
    attempt: int
    source: Literal["paid", "evidence"]
    used: bool
    calls: int
    fresh_tokens: int
    cached_tokens: int
    output_tokens: int
    dollars: float | None
    """None where the price is unknown."""
    retries: int
    key: str

    @field_validator("dollars", mode="before")
    @classmethod
    def _unknown(cls, value: object) -> object:
        return None if value == "" else value


LEDGER: TypeAdapter[tuple[LedgerLine, ...]] = TypeAdapter(tuple[LedgerLine, ...])
