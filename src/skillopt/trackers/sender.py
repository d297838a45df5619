"""What stands between a training and one tracker: a thread of its own, and all the failures that a tracker can have.

The training only puts down what there is to tell. The thread takes it, opens the tracker's run when there is something
that it does not know, and tells it. Whatever the tracker raises is counted and reported once; what it did not take is
tried again with the next thing there is to tell, and by the next start of the same training.
"""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import Final

from skillopt.errors import SkillOptError
from skillopt.trackers.base import Tracker
from skillopt.trackers.notes import Note, Notes
from skillopt.trackers.told import End, Point, Start, Status

Report = Callable[[str], None]
"""Told, from the sender's thread, of the one failure that is reported, in a sentence."""

_LONGEST: Final = 300
"""Characters of a failure's words that are kept."""


class Sender:
    """Tells one tracker, on a thread of its own.

    Args:
        name: The tracker's.
        make: Makes it; called at once.
        place: What the settings say of where its runs are.
        notes: What its run knows already.
        report: Told of the first failure.
        masked: Takes what must not be shown out of a failure's words.
    """

    def __init__(
        self,
        name: str,
        make: Callable[[], Tracker],
        *,
        place: str,
        notes: Notes,
        report: Report,
        masked: Callable[[str], str],
    ) -> None:
        self.name = name
        self._notes = notes
        self._report = report
        self._masked = masked
        self._note = notes.of(name, place=place)
        self._inbox: queue.SimpleQueue[Start | Point | End | Status] = queue.SimpleQueue()
        self._start: Start | None = None
        self._points: list[Point] = []
        self._end: End | None = None
        self._status: Status | None = None
        self._opened = False
        self._abandoned = False
        self._reported = False
        # In the context of the run, which keeps its directory from being made anew where it is moved away.
        context = copy_context()
        self._thread = threading.Thread(target=lambda: context.run(self._work), name=f"tracker {name}", daemon=True)
        self._tracker: Tracker | None = None
        self._attempt(lambda: self._make(make))

    def tell(self, message: Start | Point | End) -> None:
        """Put down what there is to tell; returns at once."""
        self._inbox.put(message)
        if not self._thread.ident:
            self._thread.start()

    def stop(self, status: Status) -> None:
        """Let the thread end once all is told; the status counts where the training told of no end."""
        self._inbox.put(status)

    def join(self) -> None:
        """Wait until all is told."""
        if self._thread.ident:
            self._thread.join()

    @property
    def at_work(self) -> bool:
        """Whether there is something that the tracker has not taken yet."""
        return self._thread.is_alive()

    def abandon(self, words: str) -> None:
        """Leave the thread to itself: whatever it waits for, it tells and writes nothing more.

        Args:
            words: Why, reported unless another failure was.
        """
        self._abandoned = True
        self._say(words)

    def _make(self, make: Callable[[], Tracker]) -> None:
        self._tracker = make()
        if self._tracker.attached and self._tracker.attached != self._note.run:
            # Another run than that of an earlier start, so it knows nothing of this training.
            self._note = self._anew(None)

    def _work(self) -> None:
        while self._status is None:
            for message in self._take():
                match message:
                    case Start():
                        self._start = message
                    case Point():
                        self._points.append(message)
                    case End():
                        self._end = message
                    case Status():
                        self._status = message
            self._attempt(self._deliver)
        if self._opened:
            self._attempt(self._close)

    def _take(self) -> list[Start | Point | End | Status]:
        """Wait for something to tell, and take all there is: a slow tracker is behind by that much, and no more."""
        messages = [self._inbox.get()]
        with contextlib.suppress(queue.Empty):
            while True:
                messages.append(self._inbox.get_nowait())
        return messages

    def _attempt(self, what: Callable[[], None]) -> None:
        """The declared seam to what trackers raise, which is anything: a failure is counted, and reported once."""
        try:
            what()
        except BaseException as error:  # noqa: BLE001
            words = self._masked(_words(error))[:_LONGEST]
            self._say(f"{words}; the training goes on without it, and what it did not take is tried again")
            changed = {"failures": self._note.failures + 1, "last_failure": words}
            with contextlib.suppress(SkillOptError):  # The disk's failure is the one that is told of already.
                self._keep(self._note.model_copy(update=changed))

    def _say(self, words: str) -> None:
        if not self._reported:
            self._reported = True
            self._report(f"tracker {self.name}: {words}")

    def _deliver(self) -> None:
        """Tell the tracker all that it does not know yet."""
        if self._start is None or self._tracker is None:
            return
        played = [point.digest for point in self._points]
        if played[: len(self._note.steps)] != self._note.steps[: len(played)]:
            # These steps came out otherwise before, under fewer epochs for one; what was told of them is not this run.
            self._close()
            self._keep(self._anew(None))
        if not self._opened and self._knows_all():
            return
        if not self._opened:
            self._open(self._tracker, self._start)
        for point in self._points[len(self._note.steps) :]:
            if self._abandoned:
                return
            self._tracker.log(point)
            self._keep(self._note.model_copy(update={"steps": [*self._note.steps, point.digest]}))
        if self._end is not None and self._end.digest != self._note.end and not self._abandoned:
            self._tracker.end(self._end)
            self._keep(self._note.model_copy(update={"end": self._end.digest}))

    def _knows_all(self) -> bool:
        told = len(self._note.steps) >= len(self._points)
        return self._note.run is not None and told and (self._end is None or self._end.digest == self._note.end)

    def _open(self, tracker: Tracker, start: Start) -> None:
        opened = tracker.open(start, self._note.run, told=len(self._note.steps))
        self._opened = True
        if not opened.known:
            self._keep(self._anew(opened.run))
            return
        # A kill between telling and noting it: the tracker knows better.
        missed = [point.digest for point in self._points[len(self._note.steps) : opened.steps or 0]]
        self._keep(self._note.model_copy(update={"run": opened.run, "steps": [*self._note.steps, *missed]}))

    def _close(self) -> None:
        if self._tracker is not None and self._opened and not self._abandoned:
            self._opened = False
            self._tracker.close(self._end.status if self._end else self._status or Status.KILLED)

    def _anew(self, run: str | None) -> Note:
        """The note of a run that knows nothing yet; what failed is still counted."""
        return self._note.model_copy(update={"run": run, "steps": [], "end": ""})

    def _keep(self, note: Note) -> None:
        self._note = note
        if not self._abandoned:
            self._notes.keep(self.name, note)


def _words(error: BaseException) -> str:
    """Return an error's type and the first line of what it says, where it can say it."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001
        said = ""
    return f"{type(error).__name__}: {said}".strip().partition("\n")[0].rstrip(".:")
