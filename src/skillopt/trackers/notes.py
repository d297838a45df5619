"""`trackers.json`: which run of each tracker a training is told to, and what that run knows already.

A start that plays known steps again, to go on from where an earlier one stopped, goes by it and tells nothing twice.
Without it, or where it cannot be read, everything is told to new runs of the trackers.

A directory that is copied by hand takes the file along, and two runs would be told to one. So a note names the run
directory that it was made in: where that is still there, and notes the same run of the tracker, the file is a copy, and
nothing in it counts. Where it is gone, the directory was moved, and goes on in its run.
"""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from pathlib import Path
from typing import Final, cast

from pydantic import BaseModel, ConfigDict, ValidationError

from skillopt.disk import another_directory
from skillopt.errors import RunDirectoryError
from skillopt.text_files import write_json_atomically

NOTES_NAME: Final = "trackers.json"


class Note(BaseModel):
    """What is known of one tracker."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore", use_attribute_docstrings=True)

    place: str = ""
    """What the settings say of where its runs are; runs of another place are none of this training's."""
    directory: str = ""
    """The run directory that was told of, absolute; "" in a note of an older version."""
    run: str | None = None
    """The id of its run."""
    steps: list[str] = []
    """The digest of each step it was told of, the baseline first."""
    end: str = ""
    """The digest of the end it was told of last."""
    failures: int = 0
    """How often it failed, over all starts."""
    last_failure: str = ""
    """How it failed last: type and words."""


class Notes:
    """The notes of a run directory; safe to use by several threads.

    Args:
        directory: The run directory.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / NOTES_NAME
        self._lock = threading.Lock()
        self._closed = False
        self._directory = str(directory.resolve())
        self._notes = {name: note for name, note in _read(self._path).items() if not _is_copy(name, note, directory)}

    def of(self, tracker: str, *, place: str) -> Note:
        """Return what is known of a tracker's run at a place; nothing where the notes speak of another place.

        Of a directory that was moved it is noted at once where it is now: a copy of it would be taken for a moved one.
        """
        note = self._notes.get(tracker, Note())
        if note.place != place:
            return Note(place=place, directory=self._directory)
        here = note.model_copy(update={"directory": self._directory})
        if here != note and note.run is not None:
            with suppress(RunDirectoryError):  # The disk's failure is told of by whatever is written next.
                self.keep(tracker, here)
        return here

    def keep(self, tracker: str, note: Note) -> None:
        """Write what is known of a tracker.

        Raises:
            RunDirectoryError: If the file cannot be written.
        """
        with self._lock:
            if self._closed:
                return
            self._notes[tracker] = note
            write_json_atomically(
                self._path, {name: known.model_dump(mode="json") for name, known in sorted(self._notes.items())}
            )

    def close(self) -> None:
        """Write nothing any more: whoever comes late finds a directory that is another start's by now."""
        with self._lock:
            self._closed = True


def _is_copy(tracker: str, note: Note, directory: Path) -> bool:
    """Whether a note was copied with its directory from one that is told to the same run still."""
    original = another_directory(note.directory, than=directory)
    if original is None or note.run is None:
        return False
    theirs = _read(original / NOTES_NAME).get(tracker)
    return theirs is not None and (theirs.place, theirs.run) == (note.place, note.run)


def _read(path: Path) -> dict[str, Note]:
    try:
        if not path.is_file():  # To read a pipe or a device may wait for ever.
            return {}
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    notes: dict[str, Note] = {}
    for name, value in cast("dict[str, object]", found).items() if isinstance(found, dict) else ():
        try:
            notes[name] = Note.model_validate(value)
        except ValidationError:
            continue
    return notes
