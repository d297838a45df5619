"""What the optimizer proposes, and how each proposal ends."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
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


Change: TypeAlias = Edit | Rewrite
"""What can be tried on a skill."""


@dataclass(frozen=True, slots=True)
class RewriteOutcome:
    """How a rewrite ended.

    Attributes:
        rewrite: The rewrite, as it came.
        state: applied: it became the candidate; duplicate: it changes nothing; over_budget: it would make the skill too
            large, or another rewrite was taken; protected: it would damage a protected section; invalid: it has no
            text that can be used.
        detail: Why, in words.
    """

    rewrite: Rewrite
    state: EditState
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Discarded:
    """Something the optimizer proposed that did not go on to the next stage; kept so that nothing vanishes.

    Attributes:
        entry: The proposal as it came, as JSON text; hostile, to be shown as text.
        state: Its end: invalid where it is no edit, over_budget, or duplicate where a merge or another edit took its
            place.
        detail: Why, in words.
    """

    entry: str
    state: EditState
    detail: str


@dataclass(frozen=True, slots=True)
class Patch:
    """Edits that were proposed together, with the reasoning for them.

    Attributes:
        reasoning: Why, in the optimizer's words.
        edits: In the optimizer's order.
        source_type: "failure" if any failure was behind it.
        task_ids: Ids of the tasks behind it.
        discarded: Proposals that ended at this stage.
        merge_level: 0 for a patch from reflect, else the level of the merge that made it.
        rewrites: Whole skills in place of edits, where reflections write those.
    """

    reasoning: str
    edits: tuple[Edit, ...]
    source_type: SourceType
    task_ids: tuple[str, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    merge_level: int = 0
    rewrites: tuple[Rewrite, ...] = ()
