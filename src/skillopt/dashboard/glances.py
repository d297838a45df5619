"""A run at a glance: the row that the list of runs has of it.

Of a run that has ended the first and the last line of its log say all, so that a long log is not read through; another
one is followed. Of either what a row shows is kept for as long as the log is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from skillopt.dashboard.catalogue import LOG_NAME, RunEntry, stamp_of
from skillopt.dashboard.following import Followers, Seen, seen
from skillopt.dashboard.last_used import LastUsed
from skillopt.errors import RunDirectoryError
from skillopt.events import RunEnded, RunStarted
from skillopt.report.course import Record
from skillopt.report.end_words import shown_scores
from skillopt.report.event_reading import START, Position, read_events
from skillopt.report.live_state import LiveRun
from skillopt.report.live_words import dollars_of, score_words
from skillopt.report.stored_records import SUMMARY, fits

_AN_END: Final = 2**18
"""Bytes in which the last line of an ended run's log begins."""
_A_BEGINNING: Final = 2**14
"""Bytes in which its first line ends."""
_MOST_KEPT: Final = 2_000
"""Runs of which what a row shows is kept."""


@dataclass(frozen=True, slots=True)
class Shares:
    """What two skills solved on the same tasks: k/n in words with what was not measured, and the gain as a share."""

    seed: str
    best: str
    gain: float | None


@dataclass(frozen=True, slots=True)
class Glance:
    """A run in a row of the list.

    Attributes:
        entry: The run.
        state: Where it stands, in a word.
        at_work: Whether a training works in it now.
        step: Steps that are done.
        total_steps: Steps over all epochs; 0 where nobody knows.
        selection: Seed and best skill on the selection split; None before the baseline.
        held_out: The same on the test split; None where it was not measured.
        dollars: What the run used, in dollars; None where a price is unknown or nothing was counted.
        at: When its last event came, in seconds since 1970; 0 where none did.
        simulated: Whether its numbers say nothing of real models.
        trouble: Why it cannot be read; "" where it can.
    """

    entry: RunEntry
    state: str
    at_work: bool = False
    step: int = 0
    total_steps: int = 0
    selection: Shares | None = None
    held_out: Shares | None = None
    dollars: float | None = None
    at: float = 0.0
    simulated: bool = False
    trouble: str = ""

    @property
    def gain(self) -> float | None:
        """How much more the best skill solves, as a share: held out where that was measured, else on the selection."""
        shares = self.held_out or self.selection
        return None if shares is None else shares.gain

    @property
    def doubted(self) -> bool:
        """Whether it improved on the selection split, which chose its best skill, and not on the held-out tasks."""
        gain = None if self.held_out is None else self.held_out.gain
        return self.state == "improved" and gain is not None and gain <= 0


class Glances:
    """Looks at runs, each in a moment; usable from several threads.

    Args:
        followers: What follows those that have not ended.
    """

    def __init__(self, followers: Followers) -> None:
        self._followers = followers
        self._kept = LastUsed[tuple[tuple[int, int], LiveRun]](_MOST_KEPT)

    def look(self, entry: RunEntry) -> Glance:
        """Return a run at a glance; one that cannot be read says why, and hides no other."""
        try:
            return _glance(entry, self._seen(entry))
        except RunDirectoryError as error:
            return Glance(entry, "damaged", trouble=error.message)
        except (KeyError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
            return Glance(entry, "damaged", trouble=f"{LOG_NAME} holds what no run writes: {error!r}")

    def _seen(self, entry: RunEntry) -> Seen:
        stamp = stamp_of(entry.directory / LOG_NAME)
        kept = self._kept.get(entry.id)
        if kept is not None and kept[0] == stamp:
            return seen(entry, kept[1])
        end = None if stamp is None else _end(entry.directory / LOG_NAME)
        found = self._followers.look(entry) if end is None else seen(entry, end)
        if stamp is not None:
            self._kept.keep(entry.id, (stamp, _what_a_row_shows(found.live)))
        return found


def _what_a_row_shows(live: LiveRun) -> LiveRun:
    return replace(live, stages=(), points=live.points[-1:], edits=(), warnings=())


def _end(path: Path) -> LiveRun | None:
    """Return how a run began and ended, by its log; None where it has not ended."""
    last = read_events(path, _last_line(path)).events
    if not last or not isinstance(last[-1].event, RunEnded):
        return None
    first = read_events(path, START, most=_A_BEGINNING).events
    started = next((one.event for one in first if isinstance(one.event, RunStarted)), None)
    return LiveRun(started=started, ended=last[-1].event, at=last[-1].at)


def _last_line(path: Path) -> Position:
    """Return where the last whole line of a log begins."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            begin = max(0, size - _AN_END)
            file.seek(begin)
            tail = file.read(_AN_END)
    except OSError as error:
        raise RunDirectoryError(f"{path} cannot be read: {error.strerror or error}") from error
    end = tail.rfind(b"\n")
    return Position(begin + tail.rfind(b"\n", 0, max(0, end)) + 1)


def _glance(entry: RunEntry, found: Seen) -> Glance:
    live = found.live
    summary: Record = {} if live.ended is None else live.ended.summary
    if summary and not fits(summary, SUMMARY):
        raise ValueError("the summary at its end is none")
    return Glance(
        entry,
        found.word,
        at_work=found.state in ("running", "starting"),
        step=int(summary.get("total_steps") or 0) if summary else (live.points[-1].step if live.points else 0),
        total_steps=live.total_steps,
        selection=_selection(live, summary),
        held_out=_shares(summary.get("test"), summary.get("test_delta_hard")),
        dollars=_dollars(live, summary),
        at=live.at,
        simulated=bool(summary.get("simulated")) or bool(live.started and live.started.simulated),
    )


def _selection(live: LiveRun, summary: Record) -> Shares | None:
    if summary:
        return _shares(summary.get("selection"), summary.get("selection_delta_hard"))
    seed, now = live.baseline, live.standing
    if seed is None or now is None:
        return None
    measured = live.points[-1].step and now.best_n and seed.current_n  # Of the seed alone there is no gain to tell.
    gain = now.best_solved / now.best_n - seed.current_solved / seed.current_n if measured else None
    return Shares(_share(seed.current_solved, seed.current_n), _share(now.best_solved, now.best_n), gain)


def _share(solved: int, tasks: int) -> str:
    """Return k of n as an ended run's summary says it."""
    return score_words("hard", solved / tasks if tasks else 0.0, solved, tasks)


def _shares(split: Record | None, gain: float | None) -> Shares | None:
    if not split or not split["seed"] or not split["best"]:
        return None
    return Shares(shown_scores(split["seed"]), shown_scores(split["best"]), gain)


def _dollars(live: LiveRun, summary: Record) -> float | None:
    if summary:
        used: Mapping[str, Record] = summary.get("total_usage") or {}
        return dollars_of({role: one["dollars"] for role, one in used.items()}) if used else None
    return None if live.spent is None else dollars_of(live.spent.dollars)
