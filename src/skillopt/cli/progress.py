"""How a training looks while it runs: live on a terminal, as plain lines elsewhere, or as JSON events.

All three are subscribers of the event log and know nothing of the run but its events.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import IO

from skillopt.cli.edit_lines import show_edits
from skillopt.cli.streams import apart, is_live
from skillopt.cli.terminal import console, say
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
from skillopt.report.course import Record
from skillopt.report.live import follow
from skillopt.report.live_state import NOTHING
from skillopt.report.live_words import percent, spent_words
from skillopt.run.event_log import event_json
from skillopt.text_files import plain
from skillopt.wording import counted, simulated_notice


@contextmanager
def open_progress(*, json_events: bool) -> Generator[Callable[[Event], None]]:
    """Return the subscriber that suits where standard output goes."""
    if json_events:
        with apart() as stream:
            yield JsonLines(stream)
    elif is_live():
        from skillopt.cli.live_view import LiveView

        with LiveView() as live:
            yield live
    else:
        yield Lines()


class JsonLines:
    """One JSON object a line, as in events.jsonl.

    Args:
        stream: Where they are printed.
    """

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._sequence = 0

    def __call__(self, event: Event) -> None:
        """Print an event."""
        print(event_json(event, sequence=self._sequence), file=self._stream, flush=True)
        self._sequence += 1


class Lines:
    """Plain lines for logs: one for each stage that has counted to its end, each step with its scores, each edit."""

    def __init__(self) -> None:
        self._finished = ""
        self._known = NOTHING

    def __call__(self, event: Event) -> None:
        """Print what is worth a line."""
        self._known = follow(self._known, event, at=time.time())
        match event:
            case StageProgress() if event.total and event.done == event.total:
                self._finished = f"  {event.stage} {event.done}/{event.total}"
            case Spent() if self._finished:
                # The totals that count the stage's last call follow its last progress.
                say(f"{self._finished}  {spent_words(event)}")
                self._finished = ""
            case RunStarted() | StepCommitted() | EpochStageCommitted() | Warned():
                say(headline(event))
                if isinstance(event, StepCommitted):
                    show_edits(self._known, console())
            case StageStarted() | StageProgress() | Spent() | RunEnded():
                pass


def headline(event: RunStarted | StepCommitted | EpochStageCommitted | Warned) -> str:
    """Return the line, or lines, that an event is worth in a log."""
    match event:
        case RunStarted():
            tasks = ", ".join(f"{name} {count}" for name, count in event.tasks.items())
            lines = [
                f"Training in '{plain(event.run_directory)}': {counted(event.total_steps, 'step')}; tasks: {tasks}"
            ]
            lines += [f"  {role:<10} {plain(name)}" for role, name in event.models.items()]
            if event.forked_from:
                kinds = ("replies", "rollouts")
                counts = " and ".join(f"{event.shared[kind]} {kind}" for kind in kinds)
                fit = " and ".join(str(event.matching[kind]) for kind in kinds)
                lines.append(f"  A fork: it shares {counts} of {plain(event.forked_from)}; {fit} match its set-up.")
            mark = [simulated_notice()] if event.simulated else []
            return "\n".join(mark + lines)
        case Warned():
            return f"warning: {plain(event.message)}"
        case StepCommitted():
            return _step_line(event.record)
        case EpochStageCommitted():
            return _epoch_line(event.record, stage=event.stage, epoch=event.epoch)


def _step_line(record: Record) -> str:
    selection = f"{_selection(record)}{_passes(record)}"
    if record["step"] == 0:
        return f"baseline: selection {selection}"
    training = f"train {record['rollout_solved']}/{record['rollout_n']}{_known(record)}"
    where, size = f"step {record['step']} (epoch {record['epoch']})", _size(record)
    return f"{where}: {training}, selection {selection}, {size}: {record['action']}, {plain(str(record['reason']))}"


def _selection(record: Record) -> str:
    return f"{record['val_solved']}/{record['val_n']} ({percent(record['val_acc'])})"


def _size(record: Record) -> str:
    return f"skill {record['skill_tokens']} tokens"


def _known(record: Record) -> str:
    """Say how all training tasks seen so far stood the last time, where the batch was drawn from those that failed."""
    if record.get("sampling") != "unsolved":
        return ""
    count, seen, share = (record[f"train_known_{name}"] for name in ("solved", "n", "acc"))
    return f" (all seen: {count}/{seen}, {percent(share)})"


def _passes(record: Record) -> str:
    """Say how far the passes of the current skill lie apart, where it has several."""
    passes = record["val_passes"]
    if passes["spread"] is None:
        return ""
    return f" in {passes['n']} passes, which differ by {100 * passes['spread']:.1f} points (standard deviation)"


def _epoch_line(record: Record, *, stage: str, epoch: int) -> str:
    value = record[stage]  # what a stage between epochs came to stands in the record under its name
    where, size = f"{stage.replace('_', ' ')} (epoch {epoch})", _size(record)
    return f"{where}: selection {_selection(record)}, {size}: {value['action']}, {plain(str(value['reason']))}"
