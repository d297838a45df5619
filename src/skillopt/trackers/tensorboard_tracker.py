# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""TensorBoard: event files in a directory of the run's own."""

from __future__ import annotations

import struct
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt.config.tracker_settings import TensorboardSettings
from skillopt.trackers.base import Opened, Tracker
from skillopt.trackers.told import End, Point, Start, Status, as_text
from skillopt.wording import simulated_notice

if TYPE_CHECKING:
    from tensorboardX.event_file_writer import EventsWriter


class TensorboardTracker(Tracker):
    """Event files of a run.

    Args:
        settings: Its section.
    """

    def __init__(self, settings: TensorboardSettings) -> None:
        self._settings = settings
        self._place: Path | None = None
        self._writer: EventsWriter | None = None

    @property
    def attached(self) -> str:
        """Nothing: TensorBoard has no runs that a program could have open."""
        return ""

    def open(self, start: Start, known: str | None, *, told: int) -> Opened:
        """Begin a new event file beside those that are there; the settings go into the first one."""
        # Where it failed to open, it is tried in the same place.
        directory = self._place = self._place or self._directory(start, known)
        goes_on = known is not None and _files(directory) > 0
        with self._writing(told if goes_on else 0):
            if not goes_on:
                rows = [
                    f"| {key} | {_cell(as_text(value))} |" for key, value in {**start.settings, **start.tags}.items()
                ]
                self._add_text("settings", "\n".join(("| setting | value |", "| --- | --- |", *rows)), step=0)
            if start.simulated:
                self._add_text("simulated", simulated_notice(), step=0)
        return Opened(directory.name, known=goes_on)

    def _directory(self, start: Start, known: str | None) -> Path:
        """Return where the files lie; among those of other runs in a directory that nobody else writes into."""
        if self._settings.log_dir is None:
            return start.directory / "tensorboard"
        all_runs = Path(self._settings.log_dir)
        if known is not None and known == Path(known).name and _files(all_runs / known):
            return all_runs / known  # The run directory may have another name by now.
        names = chain([start.name], (f"{start.name}-{number}" for number in count(2)))
        return next(all_runs / name for name in names if not _files(all_runs / name))

    def log(self, point: Point) -> None:
        """Write the numbers of a step."""
        with self._writing(point.step):
            for name, value in point.metrics.items():
                self._add_number(name, value, step=point.step)

    def end(self, end: End) -> None:
        """Write how it ended, the final numbers, the skills as text and the picture as an image."""
        with self._writing(end.step + 1):
            self._add_text("end", "\n".join(f"- {name}: {words}" for name, words in end.words.items()), step=end.step)
            for name, value in end.numbers.items():
                self._add_number(name, value, step=end.step)
            for step, (name, path) in enumerate(end.skills.items() if self._settings.artifacts else ()):
                is_best = name == "best_skill.md"
                text = path.read_text("utf-8")
                self._add_text("best_skill" if is_best else "skill", text, step=end.step if is_best else step)
            if self._settings.artifacts and end.picture is not None:
                self._add_picture(end.picture.read_bytes(), step=end.step)

    def close(self, status: Status) -> None:
        """Close the file."""
        writer, self._writer, self._place = self._writer, None, None
        if writer is not None:
            writer.close()

    @contextmanager
    def _writing(self, step: int) -> Generator[None]:
        """Write in the block; what fails in it is tried again in a new file, whose reader drops what came of it.

        The library's own writer is a thread that a full disk ends, and who tells it more waits for ever.

        Args:
            step: What earlier files have from this step on is dropped, where a new file is begun.
        """
        assert self._place is not None, "the run is open"
        if self._writer is None:
            from tensorboardX.event_file_writer import EventsWriter

            self._place.mkdir(parents=True, exist_ok=True)
            # By the library's own name two files of one second would be one.
            self._writer = EventsWriter(str(self._place / "events"), f".{_files(self._place):04d}")
            self._add(step=step, session_log=_messages().SessionLog(status="START"))
        try:
            yield
            self._writer.flush()
        except OSError:
            file, self._writer = self._writer._py_recordio_writer, None  # pyright: ignore[reportPrivateUsage]
            with suppress(OSError):
                file.close()
            raise

    def _add_number(self, name: str, value: float, *, step: int) -> None:
        from tensorboardX.summary import scalar

        self._add(step=step, summary=scalar(name, value))

    def _add_text(self, name: str, words: str, *, step: int) -> None:
        from tensorboardX.summary import text

        self._add(step=step, summary=text(name, words))

    def _add_picture(self, png: bytes, *, step: int) -> None:
        from tensorboardX.proto import summary_pb2

        messages: Any = summary_pb2  # They are made when it is imported.

        width, height = struct.unpack(">II", png[16:24])  # Every PNG image has them there.
        image = messages.Summary.Image(height=height, width=width, colorspace=4, encoded_image_string=png)
        self._add(
            step=step, summary=messages.Summary(value=[messages.Summary.Value(tag="training_dashboard", image=image)])
        )

    def _add(self, *, step: int, **what: Any) -> None:
        assert self._writer is not None, "the file is open"
        self._writer.write_event(_messages().Event(wall_time=time.time(), step=step, **what))


def _messages() -> Any:
    from tensorboardX.proto import event_pb2

    return event_pb2  # They are made when it is imported.


def _files(directory: Path) -> int:
    return len(list(directory.glob("events.out.tfevents.*")))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
