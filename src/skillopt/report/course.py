"""The course of a training: what its records say step by step, as the pictures, tables and pages need it.

Records are the entries of history.json, which are also what the event log carries. This module reads them and decides
nothing: what a step came to was decided by the gate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from skillopt.types import Action, Role

Record: TypeAlias = Mapping[str, Any]

ACCEPTED = frozenset({Action.ACCEPT.value, Action.ACCEPT_NEW_BEST.value, Action.FORCE_ACCEPT.value})
"""The actions that make a candidate the current skill."""

StepVerdict: TypeAlias = Literal["accepted", "rejected", "waiting", "not judged"]
"""What became of a step's edits: `waiting` ones are gated with those of later steps (evaluation.gate_every)."""

TrainedOn: TypeAlias = Literal["batch", "seen so far"]
"""What the training score of a step is a share of: its batch, or all training tasks seen so far."""

_OTHER_VERDICTS: Final[Mapping[str, StepVerdict]] = {
    Action.REJECT.value: "rejected",
    Action.DEFERRED.value: "waiting",
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A skill that went to the gate.

    Attributes:
        score: Its gate score, 0 to 1; where the gate stopped early, the most that it could have reached.
        bound: Whether `score` is such a bound.
        accepted: What the gate decided.
    """

    score: float
    bound: bool
    accepted: bool


@dataclass(frozen=True, slots=True)
class Spent:
    """What a role used up to a step: all tokens, and dollars or None where a price is unknown."""

    tokens: int
    dollars: float | None


@dataclass(frozen=True, slots=True)
class StepPoint:
    """One step, as it stood once everything that followed it was done.

    Attributes:
        step: From 1; 0 is the baseline.
        epoch: From 1; 0 for the baseline.
        action: The gate's word for what happened.
        reason: Why, in words.
        verdict: What became of its edits, in this step or in a later one whose gate they waited for.
        train: Share of the step's batch that was solved; where batches are drawn from unsolved tasks, which says less
            the better the skill is, of all training tasks seen so far, as they stood the last time. None for the
            baseline.
        current: Gate score of the current skill, 0 to 1.
        best: Gate score of the best skill so far.
        candidate: What went to the gate in this step, where anything did.
        slow_update: What the slow update of the epoch that this step ended sent to the gate, where there was one.
        budget: Most edits the step could make; None where there was no limit, or for the baseline.
        proposed: Edits that reflection proposed; whole rewrites, where it proposes those.
        applied: How many of them went into the candidate, one by one or as suggestions that it was written from.
        skill_tokens: Estimated tokens of the current skill.
        spent: What was used up to and with this step, by role.
        trained_on: What `train` is a share of: the step's batch, or all training tasks seen so far.
        train_solved: How many of those were solved.
        train_tasks: How many there are.
    """

    step: int
    epoch: int
    action: str
    reason: str
    verdict: StepVerdict
    train: float | None
    current: float
    best: float
    candidate: Candidate | None
    slow_update: Candidate | None
    budget: int | None
    proposed: int
    applied: int
    skill_tokens: int
    spent: Mapping[Role, Spent]
    trained_on: TrainedOn = "batch"
    train_solved: int = 0
    train_tasks: int = 0


@dataclass(frozen=True, slots=True)
class Course:
    """A whole training, or what there is of it.

    Attributes:
        name: Name of the run.
        metric: What the gate compares: hard, soft or mixed.
        points: The baseline and each step, in their order; at least one.
        trained_on: What `train` is a share of: the step's batch, or all training tasks seen so far.
        changed_by: What a step proposes and applies: edits, or whole rewrites of the skill.
    """

    name: str
    metric: str
    points: tuple[StepPoint, ...]
    trained_on: TrainedOn = "batch"
    changed_by: Literal["edits", "rewrites"] = "edits"

    @property
    def epoch_ends(self) -> tuple[int, ...]:
        """The last step of each epoch but the last one that was begun."""
        pairs = zip(self.points, self.points[1:], strict=False)
        return tuple(one.step for one, next_one in pairs if one.epoch and next_one.epoch != one.epoch)


def course(records: Sequence[Record], *, name: str) -> Course:
    """Return the course that records tell.

    Args:
        records: Entries of history.json, the baseline first.
        name: Name of the run.

    Raises:
        ValueError: If there is no record.
        KeyError, TypeError: If a record lacks what every record has.
    """
    if not records:
        raise ValueError("a course has at least the baseline")
    points: tuple[StepPoint, ...] = ()
    for record in records:
        points = followed(points, record)
    last = records[-1]
    return Course(
        name,
        str(records[0]["gate_metric"]),
        points,
        trained_on=_trained_on(last),
        changed_by="rewrites" if last.get("skill_update_mode") == "full_rewrite_minibatch" else "edits",
    )


def followed(points: tuple[StepPoint, ...], record: Record) -> tuple[StepPoint, ...]:
    """Return the points of a course with the one of the next record; steps that waited for its gate get its verdict.

    Raises:
        KeyError, TypeError, AttributeError: If the record lacks what every record has.
    """
    point = step_point(record)
    gated: Sequence[int] = record.get("gated_steps") or ()
    return (*(replace(one, verdict=point.verdict) if one.step in gated else one for one in points), point)


def dollars(course: Course, role: Role) -> tuple[float, ...]:
    """Return what a role cost up to each step; nothing where its price is unknown at one of them, or where it is free.

    An unknown price is never shown as nothing, and nothing is no line that a chart needs.
    """
    amounts = [point.spent[role].dollars for point in course.points]
    known = tuple(amount for amount in amounts if amount is not None)
    return known if len(known) == len(amounts) and any(known) else ()


def step_point(record: Record) -> StepPoint:
    """Return the step that one record tells of.

    Raises:
        KeyError, TypeError, AttributeError: If it lacks what every record has.
    """
    is_baseline = record["step"] == 0
    trained_on = _trained_on(record)
    slow: Record | None = record.get("slow_update")
    return StepPoint(
        step=record["step"],
        epoch=record["epoch"],
        action=record["action"],
        reason=record["reason"],
        verdict="accepted" if record["action"] in ACCEPTED else _OTHER_VERDICTS.get(record["action"], "not judged"),
        train=None if is_baseline else record["train_acc" if trained_on == "batch" else "train_known_acc"],
        current=record["current_score"],
        best=record["best_score"],
        candidate=None if is_baseline else _candidate(record),
        slow_update=None if slow is None else _candidate(slow),
        budget=record.get("edit_budget"),
        proposed=record.get("n_edits_proposed") or len(record.get("rewrites") or ()),
        applied=_applied(record),
        skill_tokens=record["skill_tokens"],
        spent={role: _spent(record["total_usage"][role]) for role in ("target", "optimizer")},
        trained_on=trained_on,
        train_solved=0 if is_baseline else record["rollout_solved" if trained_on == "batch" else "train_known_solved"],
        train_tasks=0 if is_baseline else record["rollout_n" if trained_on == "batch" else "train_known_n"],
    )


def best_count(record: Record) -> int:
    """Return how many selection rollouts the best skill's `best_solved` is counted from.

    Logs of a time without the field count them as those of the current skill.
    """
    found: int | None = record.get("best_n")
    return record["val_n"] if found is None else found


def _trained_on(record: Record) -> TrainedOn:
    return "seen so far" if record.get("sampling") == "unsolved" else "batch"


def _applied(record: Record) -> int:
    states: Mapping[str, int] = record.get("edits", {})
    taken = sum(rewrite["status"] == "applied" for rewrite in record.get("rewrites") or ())
    suggested = states.get("suggested", 0)
    return states.get("applied", 0) + ((suggested or taken) if taken else 0)


def _candidate(record: Record) -> Candidate | None:
    exact, bound = record.get("candidate_gate_score"), record.get("candidate_gate_score_upper_bound")
    accepted = record["action"] in ACCEPTED
    if exact is not None:
        return Candidate(exact, bound=False, accepted=accepted)
    return None if bound is None else Candidate(bound, bound=True, accepted=accepted)


def _spent(usage: Record) -> Spent:
    return Spent(usage["fresh_tokens"] + usage["cached_tokens"] + usage["output_tokens"], usage["dollars"])
