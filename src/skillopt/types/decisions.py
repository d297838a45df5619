"""What the gate decides."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from skillopt.types.tasks import Rollout


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
    """What a step or a slow update did to the current skill; most are the public names.

    With `deferred` edits wait for the gate, together with those of other steps; after any other action none do.
    """

    ACCEPT_NEW_BEST = "accept_new_best"
    ACCEPT = "accept"
    REJECT = "reject"
    FORCE_ACCEPT = "force_accept"
    SKIP_NO_PATCHES = "skip_no_patches"
    SKIP_NO_REWRITE = "skip_no_rewrite"
    SKIP_NO_CHANGE = "skip_no_change"
    SKIP_UNMEASURED = "skip_unmeasured"
    SKIP_REPEATED = "skip_repeated"
    DEFERRED = "deferred"
    NO_CONTENT = "no_content"


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's verdict on a candidate.

    Attributes:
        action: What happens to the current skill.
        reason: Why, in words, with the numbers.
        current_score: Gate score of the current skill, a mean over the selection tasks, 0 to 1.
        candidate_score: Gate score of the candidate; None where the gate stopped early or measured nothing.
        upper_bound: The highest gate score the candidate could still have reached; None where nothing was measured.
        measured: Selection tasks measured with the candidate; rollouts of them, where each is done several times.
        total: As many as there are of them.
        sign_test: On the tasks measured with both skills; None where there were none.
        rollouts: What was measured, in the gate's order.
        broken: Ids of the measured tasks on which the candidate scored lower than the current skill.
        new_best: Whether the candidate becomes the best skill: it scores strictly higher than the best so far, or as
            high and an acceptance rule prefers it.
        without_tasks: The reason without what a selection task may hold, where `reason` has more than that; "" where it
            has not. The optimizer reads it.
        remeasured: The fresh passes of an accepted candidate, where it was measured again; from then on they are its
            score.
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
    broken: tuple[str, ...] = ()
    new_best: bool = False
    remeasured: tuple[Rollout, ...] = ()
    without_tasks: str = ""

    @property
    def told(self) -> str:
        """The reason as the optimizer reads it: scores and counts of selection tasks, and nothing else of them."""
        return self.without_tasks or self.reason

    @property
    def lost_by(self) -> Fraction:
        """By how much the candidate falls short of the current skill's score, at least; 0 for a tie or a gain."""
        reached = self.candidate_score if self.candidate_score is not None else self.upper_bound
        return max(Fraction(0), self.current_score - reached) if reached is not None else Fraction(0)

    @property
    def accepted(self) -> bool:
        """Whether the candidate becomes the current skill."""
        return self.action in (Action.ACCEPT, Action.ACCEPT_NEW_BEST, Action.FORCE_ACCEPT)
