"""How long the stages took: the only place where a run reads a clock for its history."""

from __future__ import annotations

import time
from collections.abc import Callable


class StageClock:
    """Seconds by stage, read from the stages' beginnings.

    Args:
        now: The clock, in seconds.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._seconds: dict[str, float] = {}
        self._stage = ""
        self._since = 0.0

    def start(self, stage: str) -> None:
        """End the stage under way and begin another."""
        now = self._now()
        if self._stage:
            name = f"{self._stage}_s"
            self._seconds[name] = round(self._seconds.get(name, 0.0) + now - self._since, 3)
        self._stage, self._since = stage, now

    def stop(self) -> dict[str, float]:
        """Return the seconds so far and begin anew."""
        self.start("")
        seconds, self._seconds = self._seconds, {}
        return seconds
