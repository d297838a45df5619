"""What the live view shows of a run at a moment, as lines for a window of a given size: a pure function.

Lines are short, so that a window may be made narrow without a mess; what a narrow window has no room for is left out,
the least needed first. Where a terminal has no Unicode, bars and sparklines are drawn in ASCII.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Final

from rich.text import Text

from skillopt.cli.edit_lines import cut
from skillopt.report.end_words import made_by
from skillopt.report.live_state import LiveRun, Stage
from skillopt.report.live_words import (
    count_words,
    in_words,
    limit_words,
    outcome_words,
    pace_words,
    percent,
    place_words,
    score_words,
    spent_words,
)
from skillopt.text_files import plain

_LOW: Final = 16
"""Rows of a window that has no room for all six stages."""
_MOST_POINTS: Final = 24
"""Steps that a sparkline shows, the last ones."""
_ROOMY: Final = 50
"""Columns of a window that has room for all there is to say of a score."""
_BESIDE_SCORES: Final = 16
"""Columns of such a line that its name, gaps and the shortest sparkline take."""
_NAME: Final = 9
"""Columns of a stage's name."""

_UNICODE_LEVELS: Final = "▁▂▃▄▅▆▇█"
_ASCII_LEVELS: Final = "_.-=+*#"


@dataclass(frozen=True, slots=True)
class Window:
    """The window that is drawn to: columns, rows, and whether it shows ASCII alone."""

    width: int
    height: int
    ascii_only: bool = False


def live_lines(known: LiveRun, window: Window, *, now: float) -> list[Text]:
    """Return the lines of the live view; none is wider than the window.

    Args:
        known: What is known of the run.
        window: Where they are shown.
        now: The time, in seconds since 1970.
    """
    drawn = [_heading(known), *_stages(known, window, now), *_scores(known, window)]
    folded = [line for text in _spending(known, now) for line in wrap(text, window.width)]
    lines = [cut(line, window.width) for line in (*drawn, *map(Text, folded))]
    return lines[: max(1, window.height - 1)]


def sparkline(values: Sequence[float], *, low: float, high: float, ascii_only: bool) -> str:
    """Return values as a row of characters, higher ones for higher values; level where all are equal.

    Args:
        values: Each from `low` to `high`.
        low: What the lowest character stands for.
        high: What the highest one stands for.
        ascii_only: Whether to draw with ASCII characters.
    """
    levels = _ASCII_LEVELS if ascii_only else _UNICODE_LEVELS
    if high <= low:
        return levels[len(levels) // 2] * len(values)
    return "".join(levels[round((value - low) / (high - low) * (len(levels) - 1))] for value in values)


def _heading(known: LiveRun) -> Text:
    return Text(place_words(known), style="bold" if known.stages else "")


def _stages(known: LiveRun, window: Window, now: float) -> Iterator[Text]:
    """A line for each of the six stages of a step, and for another one while it works; in a low window that one."""
    for name, stage in known.shown_stages:
        if window.height >= _LOW or (stage is not None and stage is known.at_work):
            yield _stage(name, stage, window, now)


def _stage(name: str, stage: Stage | None, window: Window, now: float) -> Text:
    word = plain(name).replace("_", " ")
    column = _NAME if window.width >= 40 else 0
    if stage is None:
        return Text(f"  {word}", style="dim")
    if stage.over:
        return Text("  " + ", ".join([f"{word:<{column}} {count_words(stage) or 'done'}", *outcome_words(stage)]))
    pace = pace_words(stage, now)
    said = [_bar(stage, window) + count_words(stage), *([pace] if pace else ()), *outcome_words(stage)]
    text = Text(f"> {word:<{column}} ", style="bold")
    return text.append(", ".join(said), style="not bold")


def _bar(stage: Stage, window: Window) -> str:
    length = 20 if window.width >= 60 else 10 if window.width >= 40 else 0
    if not (stage.total and length):
        return ""
    full = round(length * min(1.0, stage.done / stage.total))
    on, off = ("#", ".") if window.ascii_only else ("█", "░")
    return f"{on * full}{off * (length - full)} "


def _scores(known: LiveRun, window: Window) -> Iterator[Text]:
    """The gate scores as they stand, with the tasks they were counted from, and how they came there."""
    standing = known.standing
    if standing is None:
        return
    roomy = window.width >= _ROOMY
    current = score_words(standing.metric, standing.current, standing.current_solved, standing.current_n, roomy=roomy)
    best = score_words(standing.metric, standing.best, standing.best_solved, standing.best_n, roomy=roomy)
    maker = f"{best}, {made_by(standing.best_origin, step=standing.best_step)}"
    if roomy and len(maker) <= window.width - _BESIDE_SCORES:
        best = maker
    column = max(24, len(best))
    points = known.points[-min(_MOST_POINTS, max(4, window.width - column - _BESIDE_SCORES)) :]
    train = [point.train for point in points if point.train is not None]
    series = ([point.current for point in points], [point.best for point in points], train)
    values = [value for one in series for value in one]
    low, high = min(values), max(values)
    of_train = f"{points[-1].train_solved}/{points[-1].train_tasks} ({percent(train[-1])})" if train else ""
    trained = "train" if points[-1].trained_on == "batch" else "all seen"  # as in the line of a finished step
    yield Text(f"selection ({plain(str(standing.metric))})")
    named = (("current", current), ("best", best), (trained, of_train if roomy or not train else percent(train[-1])))
    for (name, score), one in zip(named, series, strict=True):
        if one:
            row = sparkline(one, low=low, high=high, ascii_only=window.ascii_only)
            yield Text(f"  {name:<9}{score:<{column}} {row}" if roomy else f"{name} {score} {row}")


def _spending(known: LiveRun, now: float) -> Iterator[str]:
    if known.spent is not None:
        yield spent_words(known.spent)
    for limit in known.limits(now):
        yield limit_words(limit)
    left = known.seconds_left(now)
    if left is not None:
        yield f"about {in_words(left)} left"
