"""How each task of a run went, evaluation by evaluation: rows of results in, one line a task out.

Of a row it keeps what a line shows, not answers and feedback, so that a run of many thousand rollouts fits in memory
and is read once. `report/evaluations.py` says which evaluations there are.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from sys import intern
from threading import Lock
from typing import Any, Final, Literal, TypeAlias
from weakref import WeakKeyDictionary

from pydantic import TypeAdapter

from skillopt.report.evaluations import Evaluation, evaluations
from skillopt.report.reading import DirectoryReader
from skillopt.report.run_files import RunFiles
from skillopt.types import SplitName

Outcome: TypeAlias = Literal["solved", "partly", "failed", "unmeasured"]
"""How a task went in an evaluation; `partly` where some of several passes solved it."""

_MOST_ROWS: Final = 400_000
"""Rows that are kept over all runs: about 100 bytes each."""


@dataclass(frozen=True, slots=True)
class _Row:
    """What a line needs of a row of a results.json (`RolloutRow`), small: there may be very many of them."""

    id: str
    category: str = ""
    hard: int | None = None


_ROWS = TypeAdapter(tuple[_Row, ...])


@dataclass(frozen=True, slots=True)
class Mark:
    """How a task went in one evaluation, by its number in the run's evaluations, from 0."""

    evaluation: int
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """A task and how it went each time that it came up.

    Attributes:
        id: Of the task; hostile, to be shown as text.
        category: What kind of task it is; "" where the data does not say.
        split: The split that it is from; None for one that the manifest does not name.
        marks: How it went, in the order of the evaluations.
    """

    id: str
    category: str
    split: SplitName | None
    marks: tuple[Mark, ...]

    @property
    def last(self) -> Outcome | None:
        """How it went last; None where it never came up."""
        return self.marks[-1].outcome if self.marks else None

    @property
    def measured(self) -> tuple[Mark, ...]:
        """The marks that say how it went."""
        return tuple(mark for mark in self.marks if mark.outcome != "unmeasured")

    @property
    def changed(self) -> bool:
        """Whether it did not always go the same, as far as it was measured."""
        return len({mark.outcome for mark in self.measured}) > 1

    @property
    def counts(self) -> Mapping[Outcome, int]:
        """How often it went how."""
        return Counter(mark.outcome for mark in self.marks)

    def first(self, outcome: Outcome) -> Mark | None:
        """Return the first time that it went so; None where it never did."""
        return next((mark for mark in self.marks if mark.outcome == outcome), None)

    def stretches(self, most: int) -> tuple[tuple[Outcome, int], ...]:
        """Return how it went the last so many times, in stretches of the same outcome, each with how often in a row."""
        same = groupby(self.marks[-most:], key=lambda mark: mark.outcome)
        return tuple((marks[0].outcome, len(marks)) for marks in (tuple(group) for _, group in same))


@dataclass(frozen=True, slots=True)
class RunHistory:
    """A run as its tasks saw it.

    Attributes:
        evaluations: Every evaluation, in order; marks count by their places in it.
        tasks: Every task, in the order of the splits, and behind them those that no split names.
    """

    evaluations: tuple[Evaluation, ...]
    tasks: tuple[TaskHistory, ...]


class HistoryReader:
    """Reads how tasks went, each file once for as long as it is the same; usable from several threads.

    What it made of a run it keeps for as long as somebody keeps that reader of the run.

    Args:
        most_rows: Rows that are kept; those that were read longest ago go first.
    """

    def __init__(self, *, most_rows: int = _MOST_ROWS) -> None:
        self._most = most_rows
        self._kept: OrderedDict[Path, tuple[tuple[int, int], tuple[_Row, ...]]] = OrderedDict()
        self._rows = 0
        self._made: WeakKeyDictionary[RunFiles, RunHistory] = WeakKeyDictionary()
        self._lock = Lock()

    @property
    def kept_rows(self) -> int:
        """Rows that are kept."""
        return self._rows

    def history(self, run: RunFiles) -> RunHistory:
        """Return how every task of a run went.

        Raises:
            RunDirectoryError: If a file of an evaluation cannot be read.
        """
        with self._lock:
            made = self._made.get(run)
        if made is None:
            there = evaluations(run)
            made = RunHistory(there, self._tasks(run, there))
            with self._lock:
                self._made[run] = made
        return made

    def _tasks(self, run: RunFiles, there: Sequence[Evaluation]) -> tuple[TaskHistory, ...]:
        marks: dict[str, list[Mark]] = {}
        categories: dict[str, str] = {}
        for number, one in enumerate(there):
            rows = self._read(run.directory, one.place)
            categories.update((row.id, row.category) for row in rows)
            for task, outcome in _outcomes(rows).items():
                marks.setdefault(task, []).append(Mark(number, outcome))
        named = _named(run)
        return tuple(
            TaskHistory(task, categories.get(task, ""), named.get(task), tuple(marks.get(task, ())))
            for task in (*named, *(task for task in marks if task not in named))
        )

    def _read(self, directory: Path, place: str) -> tuple[_Row, ...]:
        path = directory / place / "results.json"
        try:
            seen = path.stat()
        except OSError:
            return ()
        stamp = (seen.st_mtime_ns, seen.st_size)
        with self._lock:
            kept = self._kept.get(path)
            if kept is not None and kept[0] == stamp:
                self._kept.move_to_end(path)
                return kept[1]
        read = DirectoryReader(directory).value(f"{place}/results.json", _ROWS, ())
        # A task comes up in many evaluations: its id is kept once.
        rows = tuple(_Row(intern(row.id), intern(row.category), row.hard) for row in read)
        with self._lock:
            self._rows += len(rows) - len(self._kept.pop(path, (stamp, ()))[1])
            self._kept[path] = (stamp, rows)
            while self._rows > self._most and len(self._kept) > 1:
                self._rows -= len(self._kept.popitem(last=False)[1][1])
        return rows


def _outcomes(rows: Iterable[_Row]) -> dict[str, Outcome]:
    passes: dict[str, list[int]] = {}
    for row in rows:
        own = passes.setdefault(row.id, [])
        if row.hard is not None:
            own.append(row.hard)
    return {task: _outcome(own) for task, own in passes.items()}


def _outcome(passes: Sequence[int]) -> Outcome:
    if not passes:
        return "unmeasured"
    solved = sum(passes)
    return "solved" if solved == len(passes) else "partly" if solved else "failed"


def _named(run: RunFiles) -> dict[str, SplitName]:
    splits: Mapping[str, Mapping[str, Any]] = (run.manifest or {}).get("splits") or {}
    order: tuple[SplitName, ...] = ("train", "val", "test")
    return {str(task): split for split in order for task in splits.get(split, {}).get("ids", ())}
