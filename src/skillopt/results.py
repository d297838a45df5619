"""What the stages made: the parts of a step, and what happened between two epochs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from skillopt.skill.document import Skill
from skillopt.types import (
    Change,
    Comparison,
    Consolidation,
    Copy,
    Decision,
    Discarded,
    Edit,
    EditOutcome,
    EditState,
    Note,
    Patch,
    Place,
    Rewrite,
    RewriteOutcome,
    Rollout,
    Task,
)


@dataclass(frozen=True, slots=True)
class LearningRateDecision:
    """The edit budget of one step as the optimizer named it.

    Attributes:
        budget: Most edits that may survive, 0 or more; what the stages after it go by.
        proposed: What the reply said, ahead of the bounds; None where no reply could be used.
        scheduled: The budget by the schedule, which holds where no reply could be used.
        available: Merged edits that there were to choose from.
        reasoning: The optimizer's words.
    """

    budget: int
    proposed: int | None
    scheduled: int
    available: int
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Selected:
    """The edits that survived selection.

    Attributes:
        edits: At most `budget`, most important first where they were ranked.
        over_budget: Those that did not survive.
        reasoning: The optimizer's words, where it was asked to rank.
        rewrites: Whole skills in place of edits, where reflections write those; they are not ranked.
    """

    edits: tuple[Edit, ...] = ()
    over_budget: tuple[EditOutcome, ...] = ()
    reasoning: str = ""
    rewrites: tuple[Rewrite, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the update made of the current skill.

    Attributes:
        skill: The candidate; equal to the current skill where nothing was applied.
        outcomes: How each selected edit ended, in order.
        changed: Whether the candidate differs from the current skill.
        notes: How each proposed reminder ended, in order; as all below, empty without skill-aware reflection.
        reminders: The notes that stand in the candidate's appendix and not in the current skill's; all of them where
            the appendix was written anew.
        consolidation: The attempt to write the appendix in fewer notes, where one was made.
        rewrites: How each rewrite of the whole skill ended; at most one of them is applied.
    """

    skill: Skill
    outcomes: tuple[EditOutcome, ...] = ()
    changed: bool = False
    notes: tuple[Note, ...] = ()
    reminders: tuple[Note, ...] = ()
    consolidation: Consolidation | None = None
    rewrites: tuple[RewriteOutcome, ...] = ()

    @property
    def applied(self) -> tuple[Edit, ...]:
        """The edits that are in the candidate."""
        return tuple(outcome.edit for outcome in self.outcomes if outcome.state is EditState.APPLIED)

    @property
    def vetted_out(self) -> tuple[EditOutcome, ...]:
        """The edits that did no better alone, each with the numbers in words."""
        return tuple(outcome for outcome in self.outcomes if outcome.state is EditState.VETTED_OUT)

    @property
    def rewrite(self) -> Rewrite | None:
        """The rewrite that the candidate is, its text the candidate's; None where there is none."""
        taken = (outcome.rewrite for outcome in self.rewrites if outcome.state is EditState.APPLIED)
        return next((replace(rewrite, text=self.skill.text) for rewrite in taken), None)

    @property
    def changes(self) -> tuple[Change, ...]:
        """All that makes the candidate another skill."""
        return (*self.applied, *self.reminders, *(() if self.rewrite is None else (self.rewrite,)))


@dataclass(frozen=True, slots=True)
class ReplyTrouble:
    """A reply of the optimizer that could not simply be read.

    Attributes:
        place: Where in the run it was asked.
        repaired: Whether small damage in its JSON was mended.
        asked_again: Whether the optimizer was shown what was wrong and asked once more.
        dropped: Why the stage went on without it; "" where it was read in the end.
        excerpt: The beginning of what was dropped; hostile, to be shown as text.
    """

    place: Place
    repaired: bool = False
    asked_again: bool = False
    dropped: str = ""
    excerpt: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """Everything the stages of one step made, in the order of the stages.

    `troubles` are the optimizer's replies that took more than reading, by stage and index; the run adds them.
    `lr_decision` is the edit budget as the optimizer named it, where that is its part.
    """

    batch: tuple[Task, ...]
    rollouts: tuple[Rollout, ...]
    patches: tuple[Patch, ...]
    merged: Patch
    selected: Selected
    candidate: Candidate
    decision: Decision
    troubles: tuple[ReplyTrouble, ...] = ()
    lr_decision: LearningRateDecision | None = None

    @property
    def discarded(self) -> tuple[Discarded, ...]:
        """All proposals that ended before selection."""
        return tuple(entry for patch in (*self.patches, self.merged) for entry in patch.discarded)


@dataclass(frozen=True, slots=True)
class LookBack:
    """What the stages between epochs look back on.

    Attributes:
        skill: The skill that the epoch's steps left, ahead of any new guidance.
        comparison: That skill and the one of the previous epoch's end on the same training tasks.
    """

    skill: Skill
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class SlowUpdate:
    """What the slow update of an epoch made.

    Attributes:
        epoch: From 2.
        comparison: What the optimizer looked back on.
        reasoning: Its words.
        guidance: The text as it came, without white space around it; "" where none came.
        candidate: The skill with the guidance; the current one where the text is no guidance.
        decision: The gate's, or why there was nothing to decide.
        copies: What the text copies from training tasks, where that is looked for.
    """

    epoch: int
    comparison: Comparison
    reasoning: str
    guidance: str
    candidate: Skill
    decision: Decision
    copies: tuple[Copy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaSkill:
    """What the meta skill of an epoch made.

    Attributes:
        epoch: From 2.
        look_back: What the optimizer looked back on.
        own_rollouts: Whether the comparison was made for it, since there was no slow update.
        reasoning: Its words.
        content: The text as it came, without white space around it; "" where none came.
        memory: What the next epoch reads: the text, as far as it is bounded, or the last good memory.
        action: Which of the two.
        reason: Why, in words.
    """

    epoch: int
    look_back: LookBack
    own_rollouts: bool
    reasoning: str
    content: str
    memory: str
    action: Literal["updated", "kept"]
    reason: str


@dataclass(frozen=True, slots=True)
class LastSeen:
    """How a training task stood when it was rolled out last, whatever skill was current then.

    Attributes:
        step: The step that rolled it out.
        solved: By the hard score; None where it could not be measured.
    """

    step: int
    solved: bool | None


@dataclass(frozen=True, slots=True)
class Draft:
    """The current skill with changes that the gate has not judged yet.

    Attributes:
        skill: What comes of them.
        changes: All of them, in the order in which they were made.
        steps: The steps they come from.
        last_seen: How the training tasks stood before anything was rolled out with it: what holds if it is dropped.
    """

    skill: Skill
    changes: tuple[Change, ...]
    steps: tuple[int, ...]
    last_seen: Mapping[str, LastSeen] = field(default_factory=dict[str, LastSeen])
