"""How a training looks while it runs: live on a terminal, as plain lines elsewhere, or as JSON events.

All three are subscribers of the event log and know nothing of the run but its events.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress import BarColumn, Progress, TextColumn
from rich.text import Text

from skillopt.cli.terminal import console, plain
from skillopt.events import Event, RunEnded, RunStarted, Spent, StageProgress, StageStarted, StepCommitted, Warned
from skillopt.run.event_log import event_json


@contextmanager
def open_progress(*, json_events: bool) -> Generator[Callable[[Event], None]]:
    """Return the subscriber that suits where standard output goes."""
    if json_events:
        yield _JsonLines()
        return
    out = console()
    if not out.is_terminal:
        yield Lines(out)
        return
    live = _LiveView(out)
    with live.shown():
        yield live


class _JsonLines:
    """One JSON object a line, as in events.jsonl."""

    def __init__(self) -> None:
        self._sequence = 0

    def __call__(self, event: Event) -> None:
        print(event_json(event, sequence=self._sequence), flush=True)  # noqa: T201 - this is the command's output
        self._sequence += 1


class Lines:
    """Plain lines for logs: one for each stage with its outcome, one for each step with its scores."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._spent = ""

    def __call__(self, event: Event) -> None:
        """Print what is worth a line."""
        match event:
            case Spent():
                self._spent = spent_line(event)
            case StageProgress() if event.total and event.done == event.total:
                self._print(f"  {event.stage} {event.done}/{event.total}  {self._spent}")
            case RunStarted() | StepCommitted() | Warned():
                self._print(headline(event))
            case StageStarted() | StageProgress() | RunEnded():
                pass

    def _print(self, text: str) -> None:
        self._out.print(text, markup=False, highlight=False, soft_wrap=True)


def headline(event: RunStarted | StepCommitted | Warned) -> str:
    """Return the line that an event is worth in a log."""
    match event:
        case RunStarted():
            tasks = ", ".join(f"{name} {count}" for name, count in event.tasks.items())
            models = ", ".join(f"{role} {plain(name)}" for role, name in event.models.items())
            mark = "SIMULATED MODELS, not real ones. " if event.simulated else ""
            return f"{mark}Training {plain(event.run_directory)}: {event.total_steps} steps; tasks: {tasks}; {models}"
        case Warned():
            return f"warning: {plain(event.message)}"
        case StepCommitted():
            return _step_line(event)


def _step_line(event: StepCommitted) -> str:
    record = event.record
    selection = f"{record['val_solved']}/{record['val_n']} ({_percent(record['val_acc'])})"
    if record["step"] == 0:
        return f"baseline: selection {selection}"
    training = f"train {record['rollout_solved']}/{record['rollout_n']}"
    where = f"step {record['step']} (epoch {record['epoch']})"
    return f"{where}: {training}, selection {selection}: {record['action']}, {record['reason']}"


def _percent(value: object) -> str:
    return f"{100 * value:.1f} %" if isinstance(value, float | int) else "-"


def spent_line(event: Spent) -> str:
    """Return calls, tokens and dollars in a few words."""
    calls = sum(event.used_calls.values())
    paid = sum(event.paid_calls.values())
    tokens = sum(event.used_tokens.values())
    known = [amount for amount in event.dollars.values() if amount is not None]
    price = f"${sum(known):.2f}" if len(known) == len(event.dollars) else "price unknown"
    return f"{calls} calls ({paid} paid now), {tokens:,} tokens, {price}"


class _LiveView:
    """The live view: a line for each finished step, and below it the stage at work, scores, spend and time left."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(bar_width=24), TextColumn("{task.fields[count]}"), console=out
        )
        self._task = self._bar.add_task("starting", total=None, count="")
        self._status = Text("")
        self._live = Live(Group(self._bar, self._status), console=out, refresh_per_second=8, transient=True)
        self._steps = 0
        self._done = 0
        self._began = time.monotonic()
        self._spent = ""

    @contextmanager
    def shown(self) -> Generator[None]:
        with self._live:
            yield

    def __call__(self, event: Event) -> None:
        match event:
            case RunStarted():
                self._steps = event.total_steps
                self._print(headline(event))
            case StageStarted():
                where = f"epoch {event.epoch}, step {event.step}/{self._steps}, " if event.step else ""
                total = event.total or None
                self._bar.reset(self._task, total=total, description=f"{where}{event.stage}", count="")
            case StageProgress():
                total = event.total or None
                self._bar.update(self._task, completed=event.done, total=total, count=f"{event.done}/{event.total}")
            case Spent():
                self._spent = spent_line(event)
                self._status.plain = f"{self._spent}{self._time_left()}"
            case StepCommitted():
                self._done = int(str(event.record["step"]))
                self._print(headline(event))
            case Warned():
                self._print(headline(event))
            case RunEnded():
                pass

    def _print(self, text: str) -> None:
        self._out.print(text, markup=False, highlight=False)

    def _time_left(self) -> str:
        if not self._done:
            return ""
        seconds = (time.monotonic() - self._began) / self._done * (self._steps - self._done)
        return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"
