"""What training carries from one step to the next."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from skillopt.rejections import Rejection, Rejections
from skillopt.results import LookBack, MetaSkill, SlowUpdate, Step
from skillopt.skill.document import Skill
from skillopt.types import (
    Action,
    Change,
    Decision,
    Edit,
    Place,
    Rewrite,
    Rollout,
)

_DRAW_STRIDE = 10_000_000
"""Distance between the places of two draws of one step; no stage numbers its calls that far."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A skill and what it did on the selection split.

    Attributes:
        skill: The skill.
        rollouts: One for each selection task, in the order of the split, or as many such passes as
            `evaluation.repeats` asks for, one after the other; all of them measured.
        step: The step that made the skill, or that a slow update followed; 0 for the seed.
        slow_update: The epoch whose slow update made the skill; 0 where a step did.
    """

    skill: Skill
    rollouts: tuple[Rollout, ...]
    step: int = 0
    slow_update: int = 0

    @property
    def next_repeat(self) -> int:
        """The first repeat number that was not measured yet."""
        return 1 + max((rollout.repeat for rollout in self.rollouts), default=-1)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Edits that were gated together and won.

    Attributes:
        step: The step that tried them.
        edits: The edits that were applied.
        reason: The gate's reason, in words with scores.
        rewrite: The whole skill, where it was rewritten in place of edits.
    """

    step: int
    edits: tuple[Edit, ...]
    reason: str
    rewrite: Rewrite | None = None

    @property
    def changes(self) -> tuple[Change, ...]:
        """All that won together."""
        return self.edits if self.rewrite is None else (*self.edits, self.rewrite)


@dataclass(frozen=True, slots=True)
class Final:
    """How the best skill was chosen and measured after the last step, by passes that no step has used.

    Attributes:
        finalists: The skills it was chosen among, with the scores that the gate knew; empty where there was no choice.
        fresh: For each finalist its fresh passes over the selection split.
        again: Further passes of the chosen skill, whose mean is its reported score; empty where none were asked for.
    """

    finalists: tuple[Measured, ...]
    fresh: tuple[tuple[Rollout, ...], ...]
    again: tuple[Rollout, ...]


@dataclass(frozen=True, slots=True)
class State:
    """Where training stands.

    Attributes:
        epoch: From 1; 0 before training.
        step: From 1 over the whole run; 0 before training.
        budget: Most edits of this step (the learning rate as scheduled).
        seed: The seed skill.
        current: The skill that training goes on with.
        best: The skill with the highest gate score so far; after `final`, the one that was chosen.
        rejections: The edits that were tried and lost, as far as they are remembered.
        previous: The skill at the end of the previous epoch; the seed skill during the first one.
        accepted: The edits that were accepted, oldest first.
        lost: What this step drew and lost already, where `optimizer.redraw` gives it another try.
        look_back: What the slow update of this epoch's end looked back on; None before it and without one.
        memory: What the optimizer wrote itself between epochs; it is part of no skill. "" where there is nothing yet.
        tried: Every candidate that was measured in full, accepted or not, in the order of the steps.
        final: How the best skill was chosen at the end; None before, and where no choice was asked for.
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
    tried: tuple[Measured, ...] = ()
    final: Final | None = None

    def next_step(self, *, epoch: int, budget: int) -> State:
        """Return the state at the beginning of the next step."""
        # What the last slow update left is what the new epoch is compared with at its end.
        same = epoch == self.epoch
        return replace(
            self,
            epoch=epoch,
            step=self.step + 1,
            budget=budget,
            previous=self.previous if same else self.current.skill,
            rejections=self.rejections if same else self.rejections.next_epoch(),
            lost=(),
            look_back=None,
        )

    def redraw(self, lost: Step) -> State:
        """Return the state for another draw from the same trajectories, with what was lost before its eyes."""
        return replace(self.after(lost), lost=(*self.lost, lost))

    def place(self, stage: str, index: int = 0) -> Place:
        """Return the place of a call of this step: one of its own for every draw."""
        return Place(stage, self.epoch, self.step, len(self.lost) * _DRAW_STRIDE + index)

    def after(self, step: Step) -> State:
        """Return the state a step leaves: the one place where a decision becomes the current and the best skill."""
        decision = step.decision
        after = self._following(decision, step.candidate.skill)
        if decision.action is Action.REJECT:
            rejection = Rejection(
                step=self.step,
                edits=step.candidate.applied,
                reason=decision.reason,
                skill=self.current.skill.digest,
                lost_by=decision.lost_by,
                broken=decision.broken,
                rewrite=step.candidate.rewrite,
            )
            return replace(after, rejections=self.rejections.add(rejection))
        if not decision.accepted:
            return after
        acceptance = Acceptance(self.step, step.candidate.applied, decision.reason, step.candidate.rewrite)
        return replace(after, accepted=(*self.accepted, acceptance))

    def after_slow_update(self, result: SlowUpdate) -> State:
        """Return the state a slow update leaves: the same rule as for a step."""
        looked = replace(self, look_back=LookBack(self.current.skill, result.comparison))
        return looked._following(result.decision, result.candidate, slow_update=result.epoch)

    def after_meta_skill(self, result: MetaSkill) -> State:
        """Return the state with the memory that a meta skill left."""
        return replace(self, memory=result.memory)

    def _following(self, decision: Decision, candidate: Skill, *, slow_update: int = 0) -> State:
        place = {rollout.task.id: number for number, rollout in enumerate(self.seed.rollouts)}
        latest = decision.remeasured or decision.rollouts
        rollouts = tuple(sorted(latest, key=lambda rollout: (rollout.repeat, place[rollout.task.id])))
        measured = Measured(candidate, rollouts, self.step, slow_update)
        judged = decision.accepted or decision.action is Action.REJECT
        tried = (*self.tried, measured) if judged and decision.candidate_score is not None else self.tried
        if not decision.accepted:
            return replace(self, tried=tried)
        best = measured if decision.new_best else self.best
        return replace(self, current=measured, best=best, tried=tried)
