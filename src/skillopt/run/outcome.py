"""How a run can end: the end states, their exit codes, and what a person should do about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt.errors import SkillOptError
from skillopt.evaluation.scores import format_solved, gate_score, solved
from skillopt.models.meter import Spending
from skillopt.skill.document import Skill
from skillopt.state import State
from skillopt.types import Action, Decision, Role, Rollout

if TYPE_CHECKING:
    from skillopt.config.evaluation_settings import EvaluationSettings


class EndState(StrEnum):
    """The end of a run. Only `improved` has exit code 0, so that `skillopt train ... && deploy` is right."""

    IMPROVED = "improved"
    ALL_REJECTED = "all_rejected"
    NOT_CONFIRMED = "not_confirmed"
    NO_CANDIDATES = "no_candidates"
    SATURATED = "saturated"
    PROVIDER_FAILED = "provider_failed"
    LIMIT_REACHED = "limit_reached"
    INTERRUPTED = "interrupted"

    @property
    def exit_code(self) -> int:
        """The process's exit code. 1 and 2 are left to errors in use; what SIGTERM interrupts returns 143."""
        return _EXIT_CODES[self]

    @property
    def advice(self) -> str:
        """A sentence on what to do."""
        return _ADVICE[self]


_EXIT_CODES = {
    EndState.IMPROVED: 0,
    EndState.ALL_REJECTED: 10,
    EndState.NO_CANDIDATES: 11,
    EndState.SATURATED: 12,
    EndState.PROVIDER_FAILED: 13,
    EndState.LIMIT_REACHED: 14,
    EndState.NOT_CONFIRMED: 15,
    EndState.INTERRUPTED: 130,
}

_ADVICE = {
    EndState.IMPROVED: "Read best_skill.md and its diff before you use it.",
    EndState.ALL_REJECTED: (
        "Candidates were made and none was accepted; each step's reason says why not. Look at the edits under steps/; "
        "try a stronger optimizer, more steps or more selection tasks, and gate_metric soft or mixed where the scorer "
        "gives partial credit."
    ),
    EndState.NOT_CONFIRMED: (
        "A candidate got ahead of the seed, and the score that is reported for the best skill is not above the seed's: "
        "the gain was not seen again in fresh passes, so it may have been luck. best_skill.md holds the skill that was "
        "chosen. Use more selection tasks, or more passes (evaluation.repeats)."
    ),
    EndState.NO_CANDIDATES: (
        "No step made a skill that differs from the seed. Look into the directories under steps/: rollout/results.json "
        "says whether any training task failed, dropped_replies.json which replies of the optimizer could not be read, "
        "patches/ what it proposed, if anything, and edit_apply_report.json which edits found no target, or did no "
        "better on their tasks."
    ),
    EndState.SATURATED: (
        "The seed skill already has the highest possible score on the selection split, so nothing can be strictly "
        "higher. Harder tasks would show what a skill can add."
    ),
    EndState.PROVIDER_FAILED: (
        "What was recorded is kept: mend the cause and run the same command again, and it goes on where it stopped "
        "without paying twice."
    ),
    EndState.LIMIT_REACHED: "What was recorded is kept: raise the limit and run the same command again to go on.",
    EndState.INTERRUPTED: "What was recorded is kept: run the same command again to go on.",
}


_NONE_WAS_JUDGED = (
    "Candidates were made and none could be judged, since selection tasks could not be measured; each step's reason "
    "says how many, and results.json in its selection_eval/ why. Mend the cause and train with --fork DIRECTORY, which "
    "measures what is missing. The same command would go the same way again."
)


NEARLY_PERFECT = Fraction(95, 100)
"""Above this score of the seed skill there is little left to gain."""


def baseline_warning(score: Fraction, rollouts: Sequence[Rollout], *, target: str) -> str:
    """Return the warning that a baseline gives reason for, or "".

    Args:
        score: Gate score of the seed skill on the selection split.
        rollouts: What it did there.
        target: Name of the target: a task that one model finds easy may be hard for another.
    """
    if score <= NEARLY_PERFECT:
        return ""
    return (
        f"{target} with the seed skill solves {format_solved(*solved(rollouts))} of the selection tasks: they are too "
        "easy for it to show what a better skill is worth; harder tasks would"
    )


def reported(state: State) -> tuple[tuple[Rollout, ...], tuple[Rollout, ...]]:
    """Return what the reported scores of seed and best skill are taken from: fresh passes where both have some."""
    if state.final is not None and state.final.again:
        return state.final.seed_again, state.final.again
    return state.seed.rollouts, state.best.rollouts


def improved(state: State, evaluation: EvaluationSettings) -> bool:
    """Whether the score that is reported for the best skill is above the one reported for the seed.

    A rule of the user's own may prefer a skill at the same score, so with one the score only has to be as high.
    """
    if state.best.skill.digest == state.seed.skill.digest:
        return False
    seed, best = (gate_score(rollouts, evaluation) for rollouts in reported(state))
    return best > seed or (best == seed and evaluation.acceptance is not None)


def end_state(
    decisions: Sequence[Decision], *, improved: bool, seed_is_perfect: bool, seed_is_best: bool = True
) -> EndState:
    """Return how a training that ran in order ended.

    Args:
        decisions: The gate's, one for each step.
        improved: Whether the best skill's reported score on the selection split is above the seed's.
        seed_is_perfect: Whether the seed already had the highest possible score.
        seed_is_best: Whether the best skill is the seed.
    """
    if improved:
        return EndState.IMPROVED
    if seed_is_perfect:
        return EndState.SATURATED
    if not seed_is_best or any(decision.new_best for decision in decisions):
        return EndState.NOT_CONFIRMED
    tried = {*_JUDGED, Action.SKIP_UNMEASURED}
    return EndState.ALL_REJECTED if any(decision.action in tried for decision in decisions) else EndState.NO_CANDIDATES


_JUDGED = frozenset({Action.REJECT, Action.ACCEPT, Action.ACCEPT_NEW_BEST, Action.FORCE_ACCEPT})


def end_message(ended: EndState, decisions: Sequence[Decision]) -> str:
    """Return what to do after a training that ran in order; nobody rejected what could not be judged (F9)."""
    if ended is EndState.ALL_REJECTED and not any(decision.action in _JUDGED for decision in decisions):
        return _NONE_WAS_JUDGED
    return ended.advice


def early_message(ended: EndState, error: SkillOptError) -> str:
    """Return why a training stopped early and what to do, which most errors do not say of themselves."""
    said = str(error)
    return said if "run the same command again" in said else f"{said}\n{ended.advice}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a training came to.

    Attributes:
        state: How it ended.
        message: What happened, in words; for an early end, the error's own and what to do.
        directory: The run directory.
        best_skill: The best skill; the seed where nothing was better.
        summary: What summary.json holds.
        bill: What all starts of the run paid for each role, replies that were of no use among it. It says how the run
            went and not what came of it, so two outcomes may be equal without it.
        picture: The picture that this start drew; None with `report.picture: false`, or where it could not be drawn.
    """

    state: EndState
    message: str
    directory: Path
    best_skill: Skill
    summary: dict[str, Any]
    bill: Mapping[Role, Spending] = field(default_factory=dict[Role, Spending], compare=False)
    picture: Path | None = field(default=None, compare=False)
