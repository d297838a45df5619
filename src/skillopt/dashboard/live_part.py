"""What the page of a run shows while the run goes: gathered of what its log tells, as text and numbers.

The words are those of the terminal (`report/live_words.py`). How they look is the template's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from skillopt.dashboard.following import Seen
from skillopt.report.end_words import made_by
from skillopt.report.live_state import EditLine, LiveRun, Stage
from skillopt.report.live_words import (
    count_words,
    in_words,
    limit_words,
    outcome_words,
    pace_words,
    percent,
    place_words,
    said,
    score_words,
    spent_words,
)

_SHOWN_EDITS: Final = 12
_SHOWN_WARNINGS: Final = 10


@dataclass(frozen=True, slots=True)
class StageLine:
    """A stage: whether it has begun or is over, how far it is, and what is said of it."""

    name: str
    state: Literal["to come", "at work", "done"]
    done: int
    total: int
    said: str


@dataclass(frozen=True, slots=True)
class LimitLine:
    """A limit in words, and the share of it that is used, 0 to 1."""

    said: str
    share: float


@dataclass(frozen=True, slots=True)
class LivePart:
    """A run as it stands.

    Attributes:
        seen: What is known, and where the run stands.
        place: Where in the training it is.
        news: What happened last that is worth being read out.
        stages: Of the step at work, or of what stands between steps.
        scores: Which skill, and its score in words.
        edits: The selected edits of the last steps, newest first.
        spent: Calls, tokens and dollars; "" before anything was counted.
        limits: Each limit that is set.
        left: About how long the rest takes; "" where nobody can say.
        warnings: The last warnings, newest first.
    """

    seen: Seen
    place: str
    news: str
    stages: tuple[StageLine, ...]
    scores: tuple[tuple[str, str], ...]
    edits: tuple[EditLine, ...]
    spent: str
    limits: tuple[LimitLine, ...]
    left: str
    warnings: tuple[str, ...]


def live_part(seen: Seen, *, now: float) -> LivePart:
    """Return a run as it stands.

    Args:
        seen: What is known of it.
        now: The time, in seconds since 1970; of a run that no process works in, time stands still at its last event.
    """
    live = seen.live
    until = now if seen.state == "running" else live.at
    left = live.seconds_left(until) if seen.state == "running" else None
    return LivePart(
        seen,
        place_words(live),
        _news(seen),
        tuple(_stage(*one, until) for one in live.shown_stages) if seen.state != "ended" else (),
        tuple(_scores(live)),
        live.edits[: -_SHOWN_EDITS - 1 : -1],
        "" if live.spent is None else spent_words(live.spent),
        tuple(LimitLine(limit_words(one), min(1.0, one.used / one.most)) for one in live.limits(until)),
        "" if left is None else f"about {in_words(left)} left",
        live.warnings[: -_SHOWN_WARNINGS - 1 : -1],
    )


def _news(seen: Seen) -> str:
    """Return what a screen reader is told: each finished step and each change of state, and no tick in between."""
    live = seen.live
    ends = {"gone": "The run's directory is gone.", "broken off": "No process works in this run, and no end is logged."}
    if seen.state in ends:
        return ends[seen.state]
    if live.ended is not None:
        return f"Ended: {live.ended.state.replace('_', ' ')}."
    if not live.points or live.standing is None:
        return "The run has begun." if live.started is not None else ""
    last, standing = live.points[-1], live.standing
    score = score_words(standing.metric, standing.current, standing.current_solved, standing.current_n)
    if not last.step:
        return f"Baseline measured: {score}."
    return f"Step {last.step} of {live.total_steps} is done: {said(last.action)}; current skill {score}."


def _stage(name: str, stage: Stage | None, now: float) -> StageLine:
    if stage is None:
        return StageLine(name, "to come", 0, 0, "")
    if stage.over:
        words = [count_words(stage) or "done", *outcome_words(stage)]
    else:
        words = [count_words(stage), pace_words(stage, now), *outcome_words(stage)]
    return StageLine(
        name, "done" if stage.over else "at work", stage.done, stage.total, ", ".join(one for one in words if one)
    )


def _scores(live: LiveRun) -> Iterator[tuple[str, str]]:
    standing, seed = live.standing, live.baseline
    if standing is None or seed is None:
        return
    yield "Seed skill", score_words(seed.metric, seed.current, seed.current_solved, seed.current_n)
    yield "Current skill", score_words(standing.metric, standing.current, standing.current_solved, standing.current_n)
    best = score_words(standing.metric, standing.best, standing.best_solved, standing.best_n)
    yield "Best skill", f"{best}, {made_by(standing.best_origin, step=standing.best_step)}"
    last = live.points[-1] if live.points else None
    if last is not None and last.train is not None:
        name = "Last training batch" if last.trained_on == "batch" else "Training tasks seen so far"
        yield name, f"{last.train_solved}/{last.train_tasks} ({percent(last.train)})"
