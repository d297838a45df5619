"""What training carries from one step to the next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from skillopt.rejections import Rejection, Rejections
from skillopt.results import Candidate, Draft, LastSeen, LookBack, MetaSkill, SlowUpdate, Step
from skillopt.skill.document import Skill
from skillopt.types import Action, Change, Decision, Place, Rollout

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
        accepted: Whether training went on with it.
    """

    skill: Skill
    rollouts: tuple[Rollout, ...]
    step: int = 0
    slow_update: int = 0
    accepted: bool = True

    @property
    def next_repeat(self) -> int:
        """The first repeat number that was not measured yet."""
        return 1 + max((rollout.repeat for rollout in self.rollouts), default=-1)


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Changes that were gated together and won.

    Attributes:
        step: The step that tried them.
        changes: The edits that were applied with the notes that came into the appendix, or the rewrite.
        reason: The gate's reason as the optimizer reads it, in words with scores.
    """

    step: int
    changes: tuple[Change, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Refreshed:
    """The current skill ahead of a fresh pass, and what the pass measured of it, in the order of the split."""

    before: Measured
    fresh: tuple[Rollout, ...]


@dataclass(frozen=True, slots=True)
class Final:
    """How the best skill was chosen and measured after the last step, by passes that no step has used.

    Attributes:
        finalists: The skills it was chosen among, with the scores that the gate knew; empty where there was no choice.
        fresh: For each finalist its fresh passes over the selection split.
        again: Further passes of the chosen skill, whose mean is its reported score; empty where none were asked for.
        seed_again: As many of the seed skill, side by side with them: a gain is the difference of two fresh means.
    """

    finalists: tuple[Measured, ...]
    fresh: tuple[tuple[Rollout, ...], ...]
    again: tuple[Rollout, ...]
    seed_again: tuple[Rollout, ...]


@dataclass(frozen=True, slots=True)
class State:
    """Where training stands.

    Attributes:
        epoch: From 1; 0 before training.
        step: From 1 over the whole run; 0 before training.
        budget: Most edits of this step (the learning rate as scheduled).
        seed: The seed skill.
        current: The skill that training goes on with.
        best: The skill with the highest gate score of those that were accepted; after `final`, the one that was chosen.
        rejections: The edits that were tried and lost, as far as they are remembered.
        previous: The skill at the end of the previous epoch; the seed skill during the first one.
        accepted: The edits that were accepted, oldest first.
        lost: What this step drew and lost already, where `optimizer.redraw` gives it another try.
        look_back: What the slow update of this epoch's end looked back on; None before it and without one.
        memory: What the optimizer wrote itself between epochs; it is part of no skill. "" where there is nothing yet.
        tried: Every candidate that was measured in full, accepted or not, in the order of the steps.
        final: How the best skill was chosen at the end; None before, and where no choice was asked for.
        last_seen: By task id, the training tasks that were rolled out so far.
        draft: The edits that wait for the gate; None where none do.
        window: Steps whose edits are gated together.
        deferred: Steps since the last acceptance that left the gate to a later one.
        rejected: Rejections by the gate in a row, since the last acceptance or fresh pass of the current skill.
        refreshed: The fresh pass of the current skill ahead of this step; None where there was none.
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
    last_seen: Mapping[str, LastSeen] = field(default_factory=dict[str, LastSeen])
    draft: Draft | None = None
    window: int = 1
    deferred: int = 0
    rejected: int = 0
    refreshed: Refreshed | None = None

    @property
    def known_training(self) -> tuple[int, int]:
        """How many training tasks were solved when they were last seen, and how many were seen at all."""
        solved = [seen.solved for seen in self.last_seen.values() if seen.solved is not None]
        return sum(solved), len(solved)

    @property
    def skill(self) -> Skill:
        """The skill that a step works on: the current one, with the edits that wait for the gate."""
        return self.current.skill if self.draft is None else self.draft.skill

    @property
    def window_ends(self) -> bool:
        """Whether this step is the last one of those whose edits are gated together."""
        first = self.step if self.draft is None else self.draft.steps[0]
        return self.step - first + 1 >= self.window

    def bundle(self, candidate: Candidate) -> tuple[Change, ...]:
        """Return all changes in which a candidate of this step differs from the current skill."""
        return (*(() if self.draft is None else self.draft.changes), *candidate.changes)

    def gated_steps(self, decision: Decision) -> tuple[int, ...]:
        """Return the steps whose edits a decision of this step's gate speaks of; none where it made no verdict."""
        if not decision.accepted and decision.action is not Action.REJECT:
            return ()
        return (*(() if self.draft is None else self.draft.steps), self.step)

    def draws_again(self, step: Step, *, most: int) -> bool:
        """Whether a step reflects again on its trajectories: it lost, and most so many times before.

        It lost where the gate rejected it, or where vetting left no edit that changes the skill.
        Where edits of earlier steps were rejected with it, its trajectories are those of a skill that is no more.
        """
        action = step.decision.action
        lost = action is Action.REJECT or (action is Action.SKIP_NO_CHANGE and bool(step.candidate.vetted_out))
        return lost and self.draft is None and len(self.lost) < most

    def refresh(self, fresh: Sequence[Rollout]) -> State:
        """Return the state with one more pass of the current skill: its score is the mean of all its passes.

        What lost to another score may be tried again.
        """
        now = (*self.current.rollouts, *fresh)

        def renewed(measured: Measured) -> Measured:
            same = measured.skill.digest == self.current.skill.digest
            return replace(measured, rollouts=now) if same else measured

        return replace(
            self,
            seed=renewed(self.seed),
            current=renewed(self.current),
            best=renewed(self.best),
            tried=tuple(map(renewed, self.tried)),
            rejections=self.rejections.reopen(self.current.skill.digest),
            rejected=0,
            refreshed=Refreshed(self.current, tuple(fresh)),
        )

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
            refreshed=None,
        )

    def redraw(self, lost: Step) -> State:
        """Return the state for another draw from the same trajectories, with what was lost before its eyes."""
        return replace(self.after(lost), lost=(*self.lost, lost))

    def place(self, stage: str, index: int = 0) -> Place:
        """Return the place of a call of this step: one of its own for every draw."""
        return Place(stage, self.epoch, self.step, len(self.lost) * _DRAW_STRIDE + index)

    def after(self, step: Step) -> State:
        """Return the state a step leaves: the one place where a decision becomes the current and the best skill."""
        decision, changes = step.decision, self.bundle(step.candidate)
        seen = {one.task.id: LastSeen(self.step, bool(one.score.hard) if one.score else None) for one in step.rollouts}
        known = {**self.last_seen, **seen}
        # The first step of a window is rolled out with the current skill, the others with the draft.
        kept = known if self.draft is None else self.draft.last_seen
        rejections = self.rejections
        for out in step.candidate.vetted_out:
            rejections = rejections.add(Rejection(self.step, (out.edit,), out.detail, self.skill.digest))
        following = self._following(decision, step.candidate.skill)
        after = replace(following, draft=None, last_seen=known, rejections=rejections)
        if decision.action is Action.DEFERRED:
            earlier = () if self.draft is None else self.draft.steps
            steps = (*earlier, self.step) if step.candidate.changed else earlier
            return replace(after, draft=Draft(step.candidate.skill, changes, steps, kept), deferred=self.deferred + 1)
        if not decision.accepted:
            after = replace(after, last_seen=kept)
        if decision.action is Action.REJECT:
            rejection = Rejection(
                step=self.step,
                changes=changes,
                reason=decision.told,
                skill=self.current.skill.digest,
                lost_by=decision.lost_by,
                broken=decision.broken,
            )
            return replace(after, rejections=rejections.add(rejection), window=max(1, self.window // 2))
        if not decision.accepted:
            return after
        return replace(after, accepted=(*self.accepted, Acceptance(self.step, changes, decision.told)))

    def after_slow_update(self, result: SlowUpdate) -> State:
        """Return the state a slow update leaves: the same rule as for a step.

        Edits that still wait for the gate, where it could not measure enough, get the new guidance as well.
        """
        looked = replace(self, look_back=LookBack(self.current.skill, result.comparison))
        if self.draft is not None and result.decision.accepted:
            skill = self.draft.skill.with_section("SLOW_UPDATE", result.candidate.guidance)
            looked = replace(looked, draft=replace(self.draft, skill=skill))
        return looked._following(result.decision, result.candidate, slow_update=result.epoch)

    def after_meta_skill(self, result: MetaSkill) -> State:
        """Return the state with the memory that a meta skill left."""
        return replace(self, memory=result.memory)

    def _following(self, decision: Decision, candidate: Skill, *, slow_update: int = 0) -> State:
        place = {rollout.task.id: number for number, rollout in enumerate(self.seed.rollouts)}
        latest = decision.remeasured or decision.rollouts
        rollouts = tuple(sorted(latest, key=lambda rollout: (rollout.repeat, place[rollout.task.id])))
        measured = Measured(candidate, rollouts, self.step, slow_update, decision.accepted)
        judged = decision.accepted or decision.action is Action.REJECT
        tried = (*self.tried, measured) if judged and decision.candidate_score is not None else self.tried
        if not decision.accepted:
            return replace(self, tried=tried, rejected=self.rejected + (decision.action is Action.REJECT))
        best = measured if decision.new_best else self.best
        return replace(self, current=measured, best=best, tried=tried, rejected=0, deferred=0)
