"""The course of a training: what its records say step by step, as the pictures, tables and pages need it.

Records are the entries of history.json, which are also what the event log carries. This module reads them and decides
nothing: what a step came to was decided by the gate.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from skillopt.errors import RunDirectoryError
from skillopt.types import Action, Role

Record: TypeAlias = Mapping[str, Any]

ACCEPTED = frozenset({Action.ACCEPT.value, Action.ACCEPT_NEW_BEST.value, Action.FORCE_ACCEPT.value})
"""The actions that make a candidate the current skill."""


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
        train: Share of the step's batch that was solved; None for the baseline.
        current: Gate score of the current skill, 0 to 1.
        best: Gate score of the best skill so far.
        candidate: What went to the gate in this step, where anything did.
        slow_update: What the slow update of the epoch that this step ended sent to the gate, where there was one.
        budget: Most edits the step could make; None where there was no limit, or for the baseline.
        proposed: Edits that reflection proposed.
        applied: Edits that went into the candidate.
        skill_tokens: Estimated tokens of the current skill.
        spent: What was used up to and with this step, by role.
    """

    step: int
    epoch: int
    action: str
    reason: str
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


@dataclass(frozen=True, slots=True)
class Course:
    """A whole training, or what there is of it.

    Attributes:
        name: Name of the run.
        metric: What the gate compares: hard, soft or mixed.
        points: The baseline and each step, in their order; at least one.
    """

    name: str
    metric: str
    points: tuple[StepPoint, ...]

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
    return Course(name, str(records[0]["gate_metric"]), tuple(step_point(record) for record in records))


def read_course(directory: Path) -> Course:
    """Read the course of the run in a directory.

    Raises:
        RunDirectoryError: If it holds no history, or one that cannot be read.
    """
    path = directory / "history.json"
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(found, list):
            raise TypeError("it is no list")
        return course(cast("list[Record]", found), name=directory.resolve().name)
    except OSError as error:
        raise RunDirectoryError(
            f"{path} cannot be read: {error.strerror or error}",
            hint="Name the directory of a run whose baseline was measured; `skillopt train` prints it.",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RunDirectoryError(
            f"{path} is no history that this version of SkillOpt can read: {type(error).__name__}: {error}",
            hint="Run the same training once more: it writes the file anew from the evidence and pays nothing.",
        ) from error


def step_point(record: Record) -> StepPoint:
    """Return the step that one record tells of.

    Raises:
        KeyError, TypeError, AttributeError: If it lacks what every record has.
    """
    is_baseline = record["step"] == 0
    slow: Record | None = record.get("slow_update")
    return StepPoint(
        step=record["step"],
        epoch=record["epoch"],
        action=record["action"],
        reason=record["reason"],
        train=None if is_baseline else record["train_acc"],
        current=record["current_score"],
        best=record["best_score"],
        candidate=None if is_baseline else _candidate(record),
        slow_update=None if slow is None else _candidate(slow),
        budget=record.get("edit_budget"),
        proposed=record.get("n_edits_proposed", 0),
        applied=record.get("edits", {}).get("applied", 0),
        skill_tokens=record["skill_tokens"],
        spent={role: _spent(record["total_usage"][role]) for role in ("target", "optimizer")},
    )


def _candidate(record: Record) -> Candidate | None:
    exact, bound = record.get("candidate_gate_score"), record.get("candidate_gate_score_upper_bound")
    accepted = record["action"] in ACCEPTED
    if exact is not None:
        return Candidate(exact, bound=False, accepted=accepted)
    return None if bound is None else Candidate(bound, bound=True, accepted=accepted)


def _spent(usage: Record) -> Spent:
    return Spent(usage["fresh_tokens"] + usage["cached_tokens"] + usage["output_tokens"], usage["dollars"])
