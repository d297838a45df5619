"""The runs in a directory: which there are, and a reader of each that is made anew when its files have changed.

An id that comes in with a URL is looked up in the listing and never becomes a path. Links that leave the directory are
not followed. Nothing is written.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Final, TypeAlias

from skillopt.dashboard.last_used import LastUsed
from skillopt.errors import RunDirectoryError
from skillopt.report.event_reading import END_BYTES, is_at_work
from skillopt.report.reading import DirectoryReader
from skillopt.report.run_files import RunFiles
from skillopt.text_files import safe_name

LOG_NAME: Final = "events.jsonl"
"""A directory with this file in it is a run's."""

_LISTED_SECONDS: Final = 1.0
"""How long a listing is believed: a page of many parts, or many browsers, read the directory once."""
_LISTED_TIMES: Final = 20
"""So many times as long as it took, where that is longer: a large directory or a slow disk is not read all the time."""
_MOST_READERS: Final = 16
"""Readers that are kept, the last used: each may hold a long history."""
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", re.ASCII)

_WATCHED = ("history.json", "summary.json", "config.yaml", "ledger.csv", "best_skill.md", "split_manifest.json",
             "run_card.json", "steps", "skills", "slow_update", "meta_skill")  # fmt: skip
"""Files whose change makes a reader stale, and directories that gain a file: what a reader keeps comes out of them."""

Stamps: TypeAlias = tuple[tuple[int, int] | bool | None, ...]
"""Equal as long as what a reader keeps of a run is what stands in its files."""


@dataclass(frozen=True, slots=True)
class RunEntry:
    """A run that is there.

    Attributes:
        id: Its name in URLs: one segment of a path.
        name: Its place below the directory, for people; hostile, to be shown as text.
        directory: Its directory, without links.
    """

    id: str
    name: str
    directory: Path


class Catalogue:
    """Lists the runs in a directory and reads them; usable from several threads.

    Args:
        directory: Where they are, up to two levels deep; it may be a run itself.
        clock: Seconds that only ever grow.
    """

    def __init__(self, directory: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.directory = directory.resolve()
        self._clock = clock
        self._lock = Lock()
        self._listed: tuple[float, dict[str, RunEntry]] | None = None
        self._readers = LastUsed[tuple[Stamps, RunFiles]](_MOST_READERS)

    def runs(self) -> tuple[RunEntry, ...]:
        """Return the runs that are there now, by name."""
        return tuple(self._listing().values())

    def find(self, run_id: str) -> RunEntry | None:
        """Return a run by its id; None where there is none."""
        return self._listing().get(run_id)

    def files(self, entry: RunEntry) -> RunFiles:
        """Return the reader of a run; the same one as long as its files are the same.

        Raises:
            RunDirectoryError: If the run is no longer there.
        """
        stamps = stamps_of(entry.directory)
        kept = self._readers.get(entry.id)
        if kept is None or kept[0] != stamps:
            kept = self._readers.keep(entry.id, (stamps, RunFiles(entry.directory)))
        return kept[1]

    def _listing(self) -> dict[str, RunEntry]:
        with self._lock:
            began = self._clock()
            if self._listed is None or began > self._listed[0]:
                found = {entry.id: entry for entry in self._look()}
                ended = self._clock()
                until = ended + max(_LISTED_SECONDS, _LISTED_TIMES * (ended - began))
                self._listed = (until, dict(sorted(found.items(), key=lambda pair: pair[1].name)))
            return self._listed[1]

    def _look(self) -> Iterator[RunEntry]:
        if _is_run(self.directory):
            yield RunEntry("~", self.directory.name, self.directory)
        for directory in self._below(self.directory):
            if _is_run(directory):
                yield self._entry(directory)
                continue
            yield from (self._entry(inner) for inner in self._below(directory) if _is_run(inner))

    def _below(self, directory: Path) -> Iterator[Path]:
        """Yield the directories in one, but hidden ones and those outside that a link leads to."""
        try:
            with os.scandir(directory) as entries:
                found = [(e.name, e.is_symlink()) for e in entries if not e.name.startswith(".") and _is_directory(e)]
        except OSError:
            return
        for name, linked in found:
            path = directory / name
            if not linked or self._holds(path):
                yield path

    def _holds(self, path: Path) -> bool:
        try:
            return path.resolve(strict=True).is_relative_to(self.directory)
        except (OSError, RuntimeError):
            return False

    def _entry(self, directory: Path) -> RunEntry:
        parts = directory.relative_to(self.directory).parts
        name = "/".join(parts)
        # A plain name has no `~`, so that no two runs get the same id.
        plain = all(_PLAIN.fullmatch(part) for part in parts)
        shown = name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
        return RunEntry("~".join(parts) if plain else f"~{safe_name(repr(name))}", shown, directory.resolve())


def stamp_of(path: Path) -> tuple[int, int] | None:
    """Return what changes when a file does, or when a directory gains or loses one: when it was written, and its size.

    None where it cannot be seen.
    """
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def stamps_of(directory: Path) -> Stamps:
    """Return what changes when anything does that a reader of a run keeps.

    An end counts once it is logged, which is behind its summary; a new start makes that summary an old one, and may
    write nothing else for long.
    """
    try:
        at_work = is_at_work(DirectoryReader(directory).content(LOG_NAME, last=END_BYTES) or b"")
    except RunDirectoryError:
        at_work = None
    return (*(stamp_of(directory / name) for name in _WATCHED), at_work)


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # A link in a circle, or one whose target may not be seen.
        return False


def _is_run(directory: Path) -> bool:
    """Whether a log is in a directory, and really there: a link out of it is not followed."""
    log = directory / LOG_NAME
    try:
        return log.is_file() and log.resolve().parent == directory.resolve()
    except (OSError, RuntimeError):
        return False


def no_directory(directory: Path) -> RunDirectoryError:
    """Return the error for a place that holds no runs because it is no directory."""
    return RunDirectoryError(
        f"{directory} is no directory", hint="Name the directory that holds your runs, such as: skillopt dashboard runs"
    )
