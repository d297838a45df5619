"""A tracker that keeps what it is told, and fails where it is asked to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from skillopt.trackers.base import Opened, Tracker
from skillopt.trackers.notes import Notes
from skillopt.trackers.sender import Sender
from skillopt.trackers.told import End, Point, Start, Status

START = Start("run", Path("run"), {"train.seed": 1}, simulated=True)


def a_point(step: int, best: float = 0.5) -> Point:
    """A step with one number."""
    return Point(step, {"scores/best": best})


def an_end(step: int = 1, state: str = "improved") -> End:
    """An end without files."""
    return End(step, Status.FINISHED, {"state": state}, {}, {})


@dataclass
class Store:
    """What a tracker's server has: for each run the steps it was told of, its end and its status."""

    steps: dict[str, list[int]] = field(default_factory=dict[str, list[int]])
    ends: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    status: dict[str, Status] = field(default_factory=dict[str, Status])
    calls: list[str] = field(default_factory=list[str])


class ScriptedTracker(Tracker):
    """Keeps what it is told in a store.

    Args:
        store: Where.
        act: Called with the name of every call before it has any effect; what it raises comes out.
        attached: The id of a run that is open already.
        counts: Whether it can say how many steps a run has.
    """

    def __init__(
        self, store: Store, act: Callable[[str], None] = lambda call: None, *, attached: str = "", counts: bool = False
    ) -> None:
        self._store = store
        self._act = act
        self._attached = attached
        self._counts = counts
        self._run = ""

    @property
    def attached(self) -> str:
        return self._attached

    def open(self, start: Start, known: str | None, *, told: int) -> Opened:
        self._called("open")
        run = self._attached or known or ""
        found = run in self._store.steps
        self._run = run if found or self._attached else f"run-{len(self._store.steps) + 1}"
        steps = self._store.steps.setdefault(self._run, [])
        self._store.ends.setdefault(self._run, [])
        return Opened(self._run, known=found and run == known, steps=len(steps) if self._counts else None)

    def log(self, point: Point) -> None:
        self._called("log")
        self._store.steps[self._run].append(point.step)

    def end(self, end: End) -> None:
        self._called("end")
        self._store.ends[self._run].append(end.words["state"])

    def close(self, status: Status) -> None:
        self._called("close")
        self._store.status[self._run] = status

    def _called(self, call: str) -> None:
        self._act(call)
        self._store.calls.append(call)


def sender(directory: Path, tracker: Callable[[], Tracker], said: list[str], *, place: str = "here") -> Sender:
    """A sender over the notes of a directory, that masks the word SECRET."""
    return Sender(
        "scripted",
        tracker,
        place=place,
        notes=Notes(directory),
        report=said.append,
        masked=lambda words: words.replace("SECRET", "(not shown)"),
    )


def play(
    directory: Path,
    tracker: Tracker,
    points: Iterable[Point],
    end: End | None = None,
    *,
    place: str = "here",
    said: list[str] | None = None,
) -> list[str]:
    """Start once and tell it all; return what was reported."""
    said = [] if said is None else said
    one = sender(directory, lambda: tracker, said, place=place)
    for message in (START, *points, *((end,) if end else ())):
        one.tell(message)
    one.stop(Status.KILLED)
    one.join()
    return said


def failing(*calls: str, error: BaseException | None = None) -> Callable[[str], None]:
    """Fail at the first so many calls of these names."""
    left = list(calls)

    def act(call: str) -> None:
        if call in left:
            left.remove(call)
            raise error or ConnectionError("no route to the tracker, key SECRET\nand more")

    return act


def noted(directory: Path) -> Mapping[str, object]:
    """What trackers.json says of the scripted tracker."""
    import json

    return json.loads((directory / "trackers.json").read_text("utf-8"))["scripted"]
