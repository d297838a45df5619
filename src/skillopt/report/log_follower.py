"""Following the log of a run: what is known of it now, of what was appended since the last look.

It holds the reducer (`report/live.py`) and its place in the log together; when to look is its user's part.
"""

from __future__ import annotations

from pathlib import Path

from skillopt.errors import RunDirectoryError
from skillopt.report.event_reading import START, Position, read_events
from skillopt.report.live import follow_all
from skillopt.report.live_state import NOTHING, LiveRun


class LogFollower:
    """Follows a log, also across new starts of its run and where it is cut, replaced or removed.

    Args:
        path: The log.

    Attributes:
        known: What was known at the last look.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position: Position = START
        self.known: LiveRun = NOTHING

    def look(self) -> LiveRun:
        """Read what was appended and return what is known now; nothing of a log that is not there.

        Raises:
            RunDirectoryError: If the log cannot be read, or is damaged.
        """
        more = True
        while more:
            reading = read_events(self._path, self._position, skim="what counts")
            events = ((logged.event, logged.at) for logged in reading.events)
            try:
                self.known = follow_all(NOTHING if reading.anew else self.known, events)
            except (KeyError, TypeError) as error:
                raise RunDirectoryError(
                    f"{self._path} holds a record that lacks what every record has: {error!r}"
                ) from error
            self._position, more = reading.position, reading.more
        return self.known
