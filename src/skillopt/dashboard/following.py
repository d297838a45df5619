"""The runs as they stand, followed by their logs: the same reducer as the terminal's, so that the two cannot disagree.

A run is followed once, however many browsers look. Whether a process is really at work in a run, or was killed, is said
by the lock (`run/lock.py`). How it looks is not decided here.
"""

from __future__ import annotations

from dataclasses import dataclass
from threading import Lock
from typing import Final, Literal, TypeAlias

from skillopt.dashboard.catalogue import LOG_NAME, RunEntry, stamp_of
from skillopt.dashboard.last_used import LastUsed
from skillopt.report.live_state import LiveRun
from skillopt.report.log_follower import LogFollower
from skillopt.run.lock import Holder, read_holder

State: TypeAlias = Literal["running", "starting", "broken off", "gone", "ended"]
"""Where a run stands: `broken off` is one that no process works in and that has logged no end, such as a killed one."""

_MOST_FOLLOWERS: Final = 256
"""Runs that are followed without reading their logs from the beginning, the last used."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A run at a moment.

    Attributes:
        live: What its log tells.
        state: Where it stands.
        holder: Which command works in its directory; None where none does.
    """

    live: LiveRun
    state: State
    holder: Holder | None

    @property
    def word(self) -> str:
        """The state in a word; the end state, such as improved, of a run that has ended."""
        return self.live.ended.state if self.state == "ended" and self.live.ended is not None else self.state


def seen(entry: RunEntry, live: LiveRun) -> Seen:
    """Return where a run stands, by what its log tells and by who holds its directory now."""
    holder = read_holder(entry.directory)
    if not entry.directory.is_dir():
        return Seen(live, "gone", None)
    if live.ended is not None:
        return Seen(live, "ended", holder)
    if holder is not None and holder.command == "train":
        return Seen(live, "running" if live.started is not None else "starting", holder)
    return Seen(live, "broken off", holder)


class Followers:
    """Follows runs; usable from several threads."""

    def __init__(self) -> None:
        self._followers = LastUsed[_Follower](_MOST_FOLLOWERS)

    def look(self, entry: RunEntry) -> Seen:
        """Return where a run stands now.

        Raises:
            RunDirectoryError: If its log cannot be read.
        """
        return seen(entry, self._followers.get_or_make(entry.id, lambda: _Follower(entry)).look())


class _Follower:
    """Follows the log of one run: read where it has changed, by one thread at a time."""

    def __init__(self, entry: RunEntry) -> None:
        self._path = entry.directory / LOG_NAME
        self._lock = Lock()
        self._stamp: tuple[int, int] | None = None
        self._log = LogFollower(self._path)

    def look(self) -> LiveRun:
        with self._lock:
            stamp = stamp_of(self._path)
            if stamp is None or stamp != self._stamp:
                self._log.look()
                # What was appended between the two is read at the next look.
                self._stamp = stamp
            return self._log.known
