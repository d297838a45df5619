"""What training carries from one step to the next, and what one step made."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from skillopt.rejections import Rejection, Rejections
from skillopt.skill.document import Skill
from skillopt.types import (
    Action,
    Comparison,
    Decision,
    Discarded,
    Edit,
    EditOutcome,
    EditState,
    Patch,
    Place,
    Rollout,
    Task,
)

_DRAW_STRIDE = 10_000_000
"""Distance between the places of two draws of one step; no stage numbers its calls that far."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A skill and what it did on the selection split.

    Attributes:
        skill: The skill.
        rollouts: One for each selection task, in the order of the split; all of them measured.
        step: The step that made the skill, or that a slow update followed; 0 for the seed.
        slow_update: The epoch whose slow update made the skill; 0 where a step did.
    """

    skill: Skill
    rollouts: tuple[Rollout, ...]
    step: int = 0
    slow_update: int = 0


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Edits that were gated together and won.

    Attributes:
        step: The step that tried them.
        edits: The edits that were applied.
        reason: The gate's reason, in words with scores.
    """

    step: int
    edits: tuple[Edit, ...]
    reason: str


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
class State:
    """Where training stands.

    Attributes:
        epoch: From 1; 0 before training.
        step: From 1 over the whole run; 0 before training.
        budget: Most edits of this step (the learning rate as scheduled).
        seed: The seed skill.
        current: The skill that training goes on with.
        best: The skill with the highest gate score so far.
        rejections: The edits that were tried and lost.
        previous: The skill at the end of the previous epoch; the seed skill during the first one.
        accepted: The edits that were accepted, oldest first.
        lost: What this step drew and lost already, where `optimizer.redraw` gives it another try.
        look_back: What the slow update of this epoch's end looked back on; None before it and without one.
        memory: What the optimizer wrote itself between epochs; it is part of no skill. "" where there is nothing yet.
    """

    seed: Measured
    current: Measured
    best: Measured
    epoch: int = 0
    step: int = 0
    budget: int = 0
    rejections: Rejections = field(default_factory=Rejections)
    previous: Skill = field(default_factory=Skill)
    accepted: tuple[Acceptance, ...] = ()
    lost: tuple[Step, ...] = ()
    look_back: LookBack | None = None
    memory: str = ""

    def next_step(self, *, epoch: int, budget: int) -> State:
        """Return the state at the beginning of the next step."""
        # What the last slow update left is what the new epoch is compared with at its end.
        previous = self.previous if epoch == self.epoch else self.current.skill
        return replace(self, epoch=epoch, step=self.step + 1, budget=budget, previous=previous, lost=(), look_back=None)

    def redraw(self, lost: Step) -> State:
        """Return the state for another draw from the same trajectories, with what was lost before its eyes."""
        return replace(self.after(lost), lost=(*self.lost, lost))

    def place(self, stage: str, index: int = 0) -> Place:
        """Return the place of a call of this step: one of its own for every draw."""
        return Place(stage, self.epoch, self.step, len(self.lost) * _DRAW_STRIDE + index)

    def after(self, step: Step) -> State:
        """Return the state a step leaves: the one place where a decision becomes the current and the best skill."""
        decision = step.decision
        if decision.action is Action.REJECT:
            rejection = Rejection(
                step=self.step,
                edits=step.candidate.applied,
                reason=decision.reason,
                skill=self.current.skill.digest,
                lost_by=decision.lost_by,
                broken=decision.broken,
            )
            return replace(self, rejections=self.rejections.add(rejection))
        after = self._following(decision, step.candidate.skill)
        if not decision.accepted:
            return after
        acceptance = Acceptance(self.step, step.candidate.applied, decision.reason)
        return replace(after, accepted=(*self.accepted, acceptance))

    def after_slow_update(self, result: SlowUpdate) -> State:
        """Return the state a slow update leaves: the same rule as for a step."""
        looked = replace(self, look_back=LookBack(self.current.skill, result.comparison))
        return looked._following(result.decision, result.candidate, slow_update=result.epoch)

    def after_meta_skill(self, result: MetaSkill) -> State:
        """Return the state with the memory that a meta skill left."""
        return replace(self, memory=result.memory)

    def _following(self, decision: Decision, candidate: Skill, *, slow_update: int = 0) -> State:
        if not decision.accepted:
            return self
        place = {rollout.task.id: number for number, rollout in enumerate(self.seed.rollouts)}
        rollouts = tuple(sorted(decision.rollouts, key=lambda rollout: place[rollout.task.id]))
        measured = Measured(candidate, rollouts, self.step, slow_update)
        return replace(self, current=measured, best=measured if decision.new_best else self.best)


@dataclass(frozen=True, slots=True)
class Selected:
    """The edits that survived selection.

    Attributes:
        edits: At most `budget`, most important first where they were ranked.
        over_budget: Those that did not survive.
        reasoning: The optimizer's words, where it was asked to rank.
    """

    edits: tuple[Edit, ...] = ()
    over_budget: tuple[EditOutcome, ...] = ()
    reasoning: str = ""


@dataclass(frozen=True, slots=True)
class Candidate:
    """What the update made of the current skill.

    Attributes:
        skill: The candidate; equal to the current skill where nothing was applied.
        outcomes: How each selected edit ended, in order.
        changed: Whether the candidate differs from the current skill.
    """

    skill: Skill
    outcomes: tuple[EditOutcome, ...] = ()
    changed: bool = False

    @property
    def applied(self) -> tuple[Edit, ...]:
        """The edits that are in the candidate."""
        return tuple(outcome.edit for outcome in self.outcomes if outcome.state is EditState.APPLIED)


@dataclass(frozen=True, slots=True)
class Step:
    """Everything the stages of one step made, in the order of the stages."""

    batch: tuple[Task, ...]
    rollouts: tuple[Rollout, ...]
    patches: tuple[Patch, ...]
    merged: Patch
    selected: Selected
    candidate: Candidate
    decision: Decision

    @property
    def discarded(self) -> tuple[Discarded, ...]:
        """All proposals that ended before selection."""
        return tuple(entry for patch in (*self.patches, self.merged) for entry in patch.discarded)


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
    """

    epoch: int
    comparison: Comparison
    reasoning: str
    guidance: str
    candidate: Skill
    decision: Decision


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
