"""A training on a terminal: a line for each finished step, and below it the stage at work, scores, spend, time left."""

from __future__ import annotations

import time
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Group
from rich.live import Live
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from skillopt.cli.progress import headline, percent, spent_line
from skillopt.cli.terminal import console
from skillopt.events import (
    EpochStageCommitted,
    Event,
    RunEnded,
    RunStarted,
    Spent,
    StageProgress,
    StageStarted,
    StepCommitted,
    Warned,
)
from skillopt.types import JsonValue

_NARROW = 60
"""Columns of a window that has no room for a bar."""


class LiveView:
    """The live view, for the length of a block; called with every event.

    It asks for the window's width whenever it draws, so a window may be made narrow while a training runs.
    """

    def __init__(self) -> None:
        self._out = console()
        text = (TextColumn("{task.description}", markup=False), TextColumn("{task.fields[count]}", markup=False))
        bar: tuple[ProgressColumn, ...] = () if self._out.width < _NARROW else (BarColumn(bar_width=20),)
        self._bar = Progress(text[0], *bar, text[1], TimeElapsedColumn(), console=self._out)
        self._task = self._bar.add_task("starting", total=None, count="")
        self._scores, self._status = Text(""), Text("")
        self._live = Live(
            Group(self._bar, self._scores, self._status), console=self._out, refresh_per_second=8, transient=True
        )
        self._steps = 0
        self._spent = ""
        self._paid = 0
        self._clock = _TimeLeft()

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def __call__(self, event: Event) -> None:
        """Show an event."""
        match event:
            case RunStarted():
                self._steps = event.total_steps
                self._print(headline(event))
            case StageStarted():
                where = f"step {event.step}/{self._steps} (epoch {event.epoch})  " if event.step else ""
                self._bar.reset(self._task, total=event.total or None, description=f"{where}{event.stage}", count="")
            case StageProgress():
                total = event.total or None
                count = f"{event.done}/{event.total}" if total else f"{event.done}"
                self._bar.update(self._task, completed=event.done, total=total, count=count)
            case Spent():
                self._spent, self._paid = spent_line(event), sum(event.paid_calls.values())
                self._show_status()
            case StepCommitted():
                self._print(headline(event))
                self._scores.plain = _scores(event.record)
                self._clock.commit(int(str(event.record["step"])), paid=self._paid)
                self._show_status()
            case EpochStageCommitted():
                self._print(headline(event))
                self._scores.plain = _scores(event.record)
            case Warned():
                self._print(headline(event))
            case RunEnded():
                pass

    def _show_status(self) -> None:
        left = self._clock.left(self._steps)
        self._status.plain = f"{self._spent}, {left}" if left else self._spent

    def _print(self, text: str) -> None:
        self._out.print(Text(text))


def _scores(record: Mapping[str, JsonValue]) -> str:
    """Return the scores that the gate compares, as they stand, with the tasks they were counted from."""
    current, best = (
        _score(record, score=f"{skill}_score", solved=solved)
        for skill, solved in (("current", "val_solved"), ("best", "best_solved"))
    )
    return f"selection ({record['gate_metric']}): current {current}, best {best} (step {record['best_step']})"


def _score(record: Mapping[str, JsonValue], *, score: str, solved: str) -> str:
    share, count = percent(record[score]), f"{record[solved]}/{record['val_n']}"
    return f"{count} ({share})" if record["gate_metric"] == "hard" else f"{share} ({count} solved)"


class _TimeLeft:
    """About how long the remaining steps take, from those that were paid in this start of the run.

    Steps that the evidence answered take no time and say nothing of those to come.
    """

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._seconds = 0.0
        self._counted = 0
        self._step = 0
        self._paid = 0

    def commit(self, step: int, *, paid: int) -> None:
        """Take note of a finished step and of the calls that were paid so far."""
        now = time.monotonic()
        if step and paid > self._paid:
            self._seconds += now - self._began
            self._counted += 1
        self._began, self._step, self._paid = now, step, paid

    def left(self, steps: int) -> str:
        """Return the estimate in words; "" where there is none yet, or no step is left."""
        if not self._counted or self._step >= steps:
            return ""
        seconds = self._seconds / self._counted * (steps - self._step)
        return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"
