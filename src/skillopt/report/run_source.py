"""What a notebook may hand in for a run: its directory, its history.json, the outcome of a training, or records.

It finds the records and what is known of their run beside them; it neither tabulates nor draws.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias, cast

from pydantic import TypeAdapter

from skillopt.errors import DataError, RunDirectoryError
from skillopt.report.course import Course, Record, course
from skillopt.report.reading import DirectoryReader
from skillopt.report.run_files import RunFiles
from skillopt.run.outcome import Outcome

RunSource: TypeAlias = str | os.PathLike[str] | Outcome | Iterable[Mapping[str, Any]]
"""A run directory, a history.json (also a copy under another name), an outcome, or records of a history."""

ACCEPTED_SOURCES = (
    "Give the directory of a run, its history.json, what skillopt.train returned, or a list of records, which are "
    "mappings such as json.load makes of a history.json."
)


@dataclass(frozen=True, slots=True)
class History:
    """Records, and what is known of their run.

    Attributes:
        name: What a picture calls it.
        records: Entries of history.json, the baseline first; none before it was measured.
        files: The run directory they are from; None for a file that was copied out of one, and for bare records.
    """

    name: str
    records: tuple[Record, ...]
    files: RunFiles | None = None

    @property
    def course(self) -> Course:
        """The course that the records tell.

        Raises:
            RunDirectoryError: If the run has no baseline yet, or its records lack what every record has.
            DataError: The same of records that are of no run directory.
        """
        if self.files is not None:
            return self.files.course
        try:
            return course(self.records, name=self.name)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise DataError(
                f"{self.name}: these are no records of a training: {error!r}", hint=ACCEPTED_SOURCES
            ) from error


def read_history(run: RunSource) -> History:
    """Return the history of a run.

    Raises:
        RunDirectoryError: If a path leads to none, or to one that cannot be read.
        DataError: If records are no mappings.
    """
    if isinstance(run, Outcome):
        return _of_directory(run.directory)
    if isinstance(run, str | os.PathLike):
        return _of_path(Path(run))
    if not hasattr(run, "__iter__"):
        raise DataError(f"no run can be read from a value of type {type(run).__name__}", hint=ACCEPTED_SOURCES)
    return History("records", tuple(_record(number, record) for number, record in enumerate(run)))


def _record(number: int, record: object) -> Record:
    if not isinstance(record, Mapping):
        raise DataError(f"record {number} is of type {type(record).__name__}", hint=ACCEPTED_SOURCES)
    return cast("Record", record)


def _of_path(path: Path) -> History:
    try:
        found = path.expanduser().resolve()
        is_directory, is_file = found.is_dir(), found.is_file()
    except (OSError, ValueError, RuntimeError) as error:
        raise RunDirectoryError(f"{path} cannot be read: {error}") from error
    if is_directory:
        return _of_directory(found)
    if not is_file:
        raise RunDirectoryError(f"{path} is neither a run directory nor a history.json", hint=ACCEPTED_SOURCES)
    if found.name == "history.json":
        return _of_directory(found.parent)
    shape = TypeAdapter(tuple[dict[str, Any], ...])
    return History(found.stem, DirectoryReader(found.parent).value(found.name, shape, ()))


def _of_directory(directory: Path) -> History:
    files = RunFiles(directory)
    return History(files.name, files.records, files)
