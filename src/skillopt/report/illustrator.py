"""Draws a training when it ends, from what it told those who watch; that it cannot is no harm to the training."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from skillopt.events import EpochStageCommitted, Event, RunEnded, RunStarted, StepCommitted
from skillopt.report.course import Record, course
from skillopt.report.picture import PICTURE_NAME, draw, ending
from skillopt.text_files import write_bytes_atomically


class Illustrator:
    """A subscriber that writes the picture of a run into its directory at each end.

    Args:
        directory: The run directory.

    Attributes:
        picture: What it has drawn last; None where it has drawn nothing, or could not.
        problem: Why there is no picture, in a sentence; "" where nothing went wrong.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._records: dict[object, Record] = {}
        self.picture: Path | None = None
        self.problem = ""

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case RunStarted():
                self._records.clear()
            case StepCommitted(record) | EpochStageCommitted(record=record):
                self._records[record["step"]] = record
            case RunEnded(summary=summary) if self._records:
                self._draw(summary)
            case _:
                pass

    def _draw(self, summary: Record) -> None:
        records, path = tuple(self._records.values()), self._directory / PICTURE_NAME
        self.picture = None
        try:
            drawn = course(records, name=self._directory.resolve().name)
            picture = draw(drawn, ending(drawn, summary), simulated=bool(summary.get("simulated")))
            write_bytes_atomically(path, picture)
            self.picture = path
        except Exception as error:  # noqa: BLE001 - the seam to the plotting library and the disk: a view ends no training
            self.problem = f"{PICTURE_NAME} could not be drawn: {type(error).__name__}: {error}".partition("\n")[0]
            with suppress(OSError):  # That of an earlier start shows other numbers.
                path.unlink(missing_ok=True)
