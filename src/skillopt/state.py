"""What training carries from one step to the next, and what one step made."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from skillopt.rejections import Rejection, Rejections
from skillopt.skill.document import Skill
from skillopt.types import Action, Decision, Discarded, Edit, EditOutcome, EditState, Patch, Place, Rollout, Task


@dataclass(frozen=True, slots=True)
class Measured:
    """A skill and what it did on the selection split.

    Attributes:
        skill: The skill.
        rollouts: One for each selection task, in the order of the split, or as many such passes as
            `evaluation.repeats` asks for, one after the other; all of them measured.
        step: The step that made the skill; 0 for the seed.
    """

    skill: Skill
    rollouts: tuple[Rollout, ...]
    step: int = 0

    @property
    def next_repeat(self) -> int:
        """The first repeat number that was not measured yet."""
        return 1 + max((rollout.repeat for rollout in self.rollouts), default=-1)


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
        rejections: The edits that were tried and lost.
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
    tried: tuple[Measured, ...] = ()
    final: Final | None = None

    def next_step(self, *, epoch: int, budget: int) -> State:
        """Return the state at the beginning of the next step."""
        return replace(self, epoch=epoch, step=self.step + 1, budget=budget)

    def after(self, step: Step) -> State:
        """Return the state a step leaves: the one place where a decision becomes the current and the best skill."""
        decision = step.decision
        measured = self._measured(step)
        tried = self.tried if decision.candidate_score is None else (*self.tried, measured)
        if decision.action is Action.REJECT:
            rejection = Rejection(self.step, step.candidate.applied, decision.reason)
            return replace(self, rejections=self.rejections.add(rejection), tried=tried)
        if not decision.accepted:
            return self
        best = measured if decision.new_best else self.best
        return replace(self, current=measured, best=best, tried=tried)

    def _measured(self, step: Step) -> Measured:
        """The candidate with its latest rollouts, pass by pass in the order of the split."""
        decision = step.decision
        place = {rollout.task.id: number for number, rollout in enumerate(self.seed.rollouts)}
        rollouts = tuple(
            sorted(
                decision.remeasured or decision.rollouts, key=lambda rollout: (rollout.repeat, place[rollout.task.id])
            )
        )
        return Measured(step.candidate.skill, rollouts, self.step)


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
    """

    batch: tuple[Task, ...]
    rollouts: tuple[Rollout, ...]
    patches: tuple[Patch, ...]
    merged: Patch
    selected: Selected
    candidate: Candidate
    decision: Decision
    troubles: tuple[ReplyTrouble, ...] = ()

    @property
    def discarded(self) -> tuple[Discarded, ...]:
        """All proposals that ended before selection."""
        return tuple(entry for patch in (*self.patches, self.merged) for entry in patch.discarded)
