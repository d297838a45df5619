"""What a tracker is to this package: one run in MLflow, say, that is opened, told of steps, and closed.

A tracker is used by one thread at a time and may be slow, hang or raise whatever it likes: `sender.py` stands between
it and the training. What it is told is in `told.py`; tasks and trajectories are not among it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Protocol

from skillopt.trackers.told import End, Point, Start, Status


@dataclass(frozen=True, slots=True)
class Opened:
    """A tracker's run that is open.

    Attributes:
        run: Its id there.
        known: Whether it is the one that was asked for, with what it was told; False for one that knows nothing yet.
        steps: How many steps it has, the baseline among them, where the tracker can say so.
    """

    run: str
    known: bool
    steps: int | None = None


class Tracker(Protocol):
    """One run in one tracker."""

    @property
    def attached(self) -> str:
        """The id of the run that the program had open there, which is used and left open; "" where there is none."""
        ...

    def open(self, start: Start, known: str | None, *, told: int) -> Opened:
        """Open the run and tell it the settings.

        Args:
            start: What is known at the start.
            known: The id of the run that goes on; None for a new one. One that is gone is replaced by a new one.
            told: How many steps that one was told of, as far as is noted.
        """
        ...

    def log(self, point: Point) -> None:
        """Tell it of a step; they come in their order, each once."""
        ...

    def end(self, end: End) -> None:
        """Tell it how the training ended; a later end takes the place of an earlier one."""
        ...

    def close(self, status: Status) -> None:
        """Close the run, unless somebody else opened it. Nothing else follows, but it may be opened again."""
        ...


def loaded(module: str) -> Any:
    """Return a library that the program has imported, or None: who has not imported it has no run open in it."""
    return sys.modules.get(module)
