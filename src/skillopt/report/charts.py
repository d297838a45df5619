"""The interactive charts of a training as plain numbers: what the page's script draws, and no word of any data."""

from __future__ import annotations

from skillopt.report.course import Candidate, Course, dollars
from skillopt.types import JsonValue, Role


def chart_data(course: Course) -> dict[str, JsonValue]:
    """Return the numbers of the charts, one list a line, a number or null for each step.

    Scores are in percent. The words in it are ours alone, so nothing of a task or a reply reaches the script.
    """
    points = course.points
    roles: tuple[Role, ...] = ("target", "optimizer")
    return {
        "steps": [point.step for point in points],
        "trained_on": course.trained_on,
        "changed_by": course.changed_by,
        "epoch_ends": list(course.epoch_ends),
        "train": [_percent(point.train) for point in points],
        "current": [_percent(point.current) for point in points],
        "best": [_percent(point.best) for point in points],
        "baseline": _percent(points[0].current),
        "accepted": [_score(point.candidate, accepted=True) for point in points],
        "rejected": [_score(point.candidate, accepted=False) for point in points],
        "rejected_early": [_score(point.candidate, accepted=False, bound=True) for point in points],
        "slow_accepted": [_score(point.slow_update, accepted=True) for point in points],
        "slow_rejected": [_any_score(point.slow_update, accepted=False) for point in points],
        "budget": [point.budget for point in points],
        "proposed": [None if point.step == 0 else point.proposed for point in points],
        "kept": [point.applied or None if point.verdict == "accepted" else None for point in points],
        "lost": [None if point.verdict == "accepted" else point.applied or None for point in points],
        "tokens": {role: [point.spent[role].tokens for point in points] for role in roles},
        "dollars": {role: list(amounts) for role in roles if (amounts := dollars(course, role))},
    }


def drawn_percent(share: float) -> float:
    """Return a share as a chart draws it: with the digits that all else shows, for a browser breaks ties otherwise."""
    return round(100 * share, 1)


def _percent(share: float | None) -> float | None:
    return None if share is None else drawn_percent(share)


def _score(candidate: Candidate | None, *, accepted: bool, bound: bool = False) -> float | None:
    fits = candidate is not None and candidate.accepted == accepted and (accepted or candidate.bound == bound)
    return _percent(candidate.score) if candidate is not None and fits else None


def _any_score(candidate: Candidate | None, *, accepted: bool) -> float | None:
    return _percent(candidate.score) if candidate is not None and candidate.accepted == accepted else None
