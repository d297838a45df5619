"""How long the stages took: the only place where a run reads a clock for its history."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping


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


def with_public_names(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return seconds by stage with what the public tool calls them besides: `evaluate_s` and `wall_time_s`.

    All clock readings stand together, the whole time of a step too, which the public tool writes beside the scores:
    they are what may differ between two runs with the same replies.

    Args:
        seconds: By stage; those of an earlier call are reckoned anew.
    """
    own = {name: value for name, value in seconds.items() if name not in ("evaluate_s", "wall_time_s")}
    evaluated = {"evaluate_s": own.get("gate_s", 0.0)} if "rollout_s" in own else {}
    return {**own, **evaluated, "wall_time_s": round(math.fsum(own.values()), 3)}
