"""Tells the trackers of a configuration how a training goes: a subscriber of the event log that takes no time.

It makes of events what trackers are told and hands it to their senders. At the end it waits for them, but not for long.
"""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

from skillopt.concurrency import call_in_thread
from skillopt.config.schema import Config
from skillopt.config.secrets import masked
from skillopt.errors import Interrupted, SkillOptError
from skillopt.events import EpochStageCommitted, Event, RunEnded, RunStarted, StageStarted, StepCommitted
from skillopt.interruption import GRACE_SECONDS, interruptible
from skillopt.report.course import StepPoint, step_point
from skillopt.run.outcome import EndState
from skillopt.trackers.chosen import chosen, require_libraries
from skillopt.trackers.notes import Notes
from skillopt.trackers.sender import Sender
from skillopt.trackers.told import End, Point, Start, Status, end, point, start


class Trackers:
    """The trackers of a training.

    Args:
        config: Its settings.
        directory: The run directory.
        environment: Whose secrets no message shows.

    Raises:
        MissingDependencyError: If a tracker is chosen whose library is not installed.
    """

    def __init__(self, config: Config, directory: Path, *, environment: Mapping[str, str] = os.environ) -> None:
        require_libraries(config.trackers)
        self._config = config
        self._directory = directory
        self._environment = environment
        self._started: RunStarted | None = None
        self._senders: list[Sender] = []
        self._notes: Notes | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._warn: Callable[[str], None] = _say_nothing
        self._last: StepPoint | None = None
        self._told = 0
        self._ended = ""

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case RunStarted():
                self._started = event
            case StepCommitted(record=record):
                self._tell_last()
                self._last = step_point(record)
            case EpochStageCommitted(record=record):
                self._last = step_point(record)
            case StageStarted(step=step) if self._last is not None and step > self._last.step:
                self._tell_last()
            case RunEnded(state=state, summary=summary):
                self._tell_last()
                self._ended = state
                drawn = self._config.report.picture
                self._tell(end(state, summary, self._directory, step=self._told, drawn=drawn))
            case _:
                pass

    @asynccontextmanager
    async def watching(self, warn: Callable[[str], None]) -> AsyncGenerator[None]:
        """Tell them during the block, and wait at its end until all is told, as long as the settings allow.

        The run has started by then; whatever failed before that is told to no tracker.

        Args:
            warn: Told, between two turns of the event loop, of each tracker that fails, once.
        """
        self._warn, self._loop = warn, asyncio.get_running_loop()
        self._begin()
        try:
            yield
        except asyncio.CancelledError:
            self._warn = _say_nothing
            self._leave(Status.KILLED, "the training was cancelled")
            raise
        except BaseException as error:
            failed = isinstance(error, Exception) and not isinstance(error, Interrupted)
            await self._finish(Status.FAILED, asked=not failed)
            raise
        await self._finish(Status.KILLED, asked=self._ended == EndState.INTERRUPTED)

    def _begin(self) -> None:
        """Make the trackers, on this thread: a run that is open belongs to the program's thread and context."""
        assert self._started is not None, "a run that is open has started"
        self._notes = notes = Notes(self._directory)
        for one in chosen(self._config.trackers):
            sender = Sender(
                one.name,
                one.make,
                place=one.place,
                notes=notes,
                report=self._report,
                masked=partial(masked, environment=self._environment),
            )
            self._senders.append(sender)
        self._tell(start(self._config, self._started, self._directory))

    def _report(self, words: str) -> None:
        """Have a failure reported, from a sender's thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # The loop is closed: nobody listens any more.
                self._loop.call_soon_threadsafe(self._say, words)

    def _say(self, words: str) -> None:
        with suppress(SkillOptError):  # The log cannot be written: the training ends by that itself.
            self._warn(words)

    def _tell_last(self) -> None:
        """Tell of the last step, now that it is as it will stay."""
        if self._last is not None:
            self._tell(point(self._last))
            self._last, self._told = None, self._last.step

    def _tell(self, message: Start | Point | End) -> None:
        for sender in self._senders:
            sender.tell(message)

    async def _finish(self, status: Status, *, asked: bool) -> None:
        """Wait until all is told: as long as the settings allow, and a moment where somebody asked for the end."""
        if not self._senders:
            return
        seconds = min(self._config.trackers.wait, GRACE_SECONDS if asked else math.inf)
        for sender in self._senders:
            sender.stop(status)
        with suppress(TimeoutError, Interrupted):
            if self._ended == EndState.INTERRUPTED:
                await call_in_thread(self._join, seconds=seconds)
            else:
                async with interruptible():
                    await call_in_thread(self._join, seconds=seconds)
        self._leave(status, f"it did not take everything within {seconds:g} s; the same command sends the rest")
        await asyncio.sleep(0)  # What was reported last is said.
        self._warn = _say_nothing

    def _join(self) -> None:
        for sender in self._senders:
            sender.join()

    def _leave(self, status: Status, words: str) -> None:
        """Wait no longer: who is still at work may hang, and tells and writes nothing more."""
        if self._notes is not None:
            self._notes.close()
        for sender in self._senders:
            sender.stop(status)
            if sender.at_work:
                sender.abandon(words)


def _say_nothing(words: str) -> None:
    """Take no note of a failure that comes after the end."""
