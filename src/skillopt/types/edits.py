"""What the optimizer proposes, and how each proposal ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from skillopt.types.tasks import SourceType


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
    MEMORISED = "memorised"
    VETTED_OUT = "vetted_out"
    SUGGESTED = "suggested"


@dataclass(frozen=True, slots=True)
class Edit:
    """One bounded change of the skill, as the optimizer proposed it.

    Attributes:
        operation: What to do.
        target: The text to find; "" for append.
        content: The text to put in; "" for delete.
        support_count: How many proposals this edit stands for after merging; at least 1.
        source_type: The kind of trajectories it came from.
        task_ids: Ids of the tasks it came from: those that the optimizer cited, where it cited any, else all whose
            trajectories were before its eyes when it proposed the edit.
        merge_level: How many merges it went through.
        cited: Ids of the tasks that the optimizer itself cited for the edit; empty where it cited none or was not
            asked.
    """

    operation: EditOperation
    target: str = ""
    content: str = ""
    support_count: int = 1
    source_type: SourceType = "failure"
    task_ids: tuple[str, ...] = ()
    merge_level: int = 0
    cited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Copy:
    """A passage of a new text that a training task has as well.

    Attributes:
        task_id: The task; the first one, in the order of the tasks, where several have it.
        text: The passage as it stands in the new text.
    """

    task_id: str
    text: str


@dataclass(frozen=True, slots=True)
class Vetting:
    """An edit tried alone on training tasks that it came from.

    Attributes:
        task_ids: The tasks.
        before: Sum of the gate scores that the current skill had on them in this step.
        after: The same with the edit; None where not all of them could be measured, and then nothing was decided.
    """

    task_ids: tuple[str, ...]
    before: Fraction
    after: Fraction | None


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """How an edit ended.

    Attributes:
        edit: The edit.
        state: Its one end.
        detail: What a person needs to know about it, such as "found in 2 places: lines 4 and 9".
        repaired: Whether it was applied only after a repair request to the optimizer.
        copies: What its content copies from training tasks, where that is looked for.
        vetting: How it did alone; None where it was not tried alone.
    """

    edit: Edit
    state: EditState
    detail: str = ""
    repaired: bool = False
    copies: tuple[Copy, ...] = ()
    vetting: Vetting | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """A whole skill as the optimizer wrote it anew.

    Attributes:
        text: The skill; hostile until it was put together with what no rewrite changes (`skill/rewriting.py`).
        change_summary: What changed, in the optimizer's words, a line each.
        reasoning: Why, in its words.
        source_type: The kind of trajectories it came from.
        task_ids: Ids of the tasks that were before the optimizer's eyes.
    """

    text: str
    change_summary: tuple[str, ...] = ()
    reasoning: str = ""
    source_type: SourceType = "failure"
    task_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RewriteOutcome:
    """How a rewrite ended.

    Attributes:
        rewrite: The rewrite, as it came.
        state: applied: it became the candidate; duplicate: it changes nothing; over_budget: it would make the skill too
            large, or another rewrite was taken; protected: it would damage a protected section; invalid: it has no
            text that can be used; memorised: it copies a training task, and copies are refused.
        detail: Why, in words.
        copies: What its text copies from training tasks, where that is looked for.
    """

    rewrite: Rewrite
    state: EditState
    detail: str = ""
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True, slots=True)
class Discarded:
    """Something the optimizer proposed that did not go on to the next stage; kept so that nothing vanishes.

    Attributes:
        entry: The proposal as it came, as JSON text; hostile, to be shown as text.
        state: Its end: invalid where it is no edit, over_budget, memorised where it copies a training task and that is
            refused, or duplicate where a merge or another edit took its place.
        detail: Why, in words.
        copies: What it copies from training tasks.
    """

    entry: str
    state: EditState
    detail: str
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """One reminder for the skill's appendix: of a rule that stands in the skill and was not followed.

    Attributes:
        text: The reminder as it came; hostile, to be shown as text.
        source_type: The kind of trajectories it came from.
        task_ids: Ids of the tasks whose trajectories were before the optimizer's eyes when it wrote it.
        state: Its one end: applied (it is in the candidate), duplicate, invalid, protected or over_budget; None while
            that is open.
        detail: Why, in words.
        copies: What it copies from training tasks, where that is looked for.
    """

    text: str
    source_type: SourceType = "failure"
    task_ids: tuple[str, ...] = ()
    state: EditState | None = None
    detail: str = ""
    copies: tuple[Copy, ...] = ()


Change: TypeAlias = Edit | Note | Rewrite
"""What can be tried on a skill."""


@dataclass(frozen=True, slots=True)
class Consolidation:
    """One attempt to write the notes of an appendix in fewer words.

    Attributes:
        before: The notes as they were.
        after: The notes that stand in the candidate now; as before where the attempt came to nothing.
        reason: What came of it, in words.
    """

    before: tuple[str, ...]
    after: tuple[str, ...]
    reason: str

    @property
    def kept(self) -> bool:
        """Whether the shorter notes took the place of the others."""
        return self.after != self.before


@dataclass(frozen=True, slots=True)
class Patch:
    """Edits that were proposed together, with the reasoning for them.

    Attributes:
        reasoning: Why, in the optimizer's words.
        edits: In the optimizer's order.
        source_type: "failure" if any failure was behind it.
        task_ids: Ids of the tasks behind it.
        discarded: Proposals that ended at this stage.
        notes: Reminders for the skill's appendix that came with it; empty without skill-aware reflection.
        merge_level: 0 for a patch from reflect, else the level of the merge that made it.
        rewrites: Whole skills in place of edits, where reflections write those.
    """

    reasoning: str
    edits: tuple[Edit, ...]
    source_type: SourceType
    task_ids: tuple[str, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    notes: tuple[Note, ...] = ()
    merge_level: int = 0
    rewrites: tuple[Rewrite, ...] = ()
