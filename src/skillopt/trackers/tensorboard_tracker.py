# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""TensorBoard: event files in a directory of the run's own."""

from __future__ import annotations

import struct
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skillopt.config.tracker_settings import TensorboardSettings
from skillopt.trackers.base import Opened, Tracker
from skillopt.trackers.told import End, Point, Start, Status, as_text
from skillopt.wording import simulated_notice

if TYPE_CHECKING:
    from tensorboardX import SummaryWriter


class TensorboardTracker(Tracker):
    """Event files of a run.

    Args:
        settings: Its section.
    """

    def __init__(self, settings: TensorboardSettings) -> None:
        self._settings = settings
        self._writer: SummaryWriter | None = None

    @property
    def attached(self) -> str:
        """Nothing: TensorBoard has no runs that a program could have open."""
        return ""

    def open(self, start: Start, known: str | None, *, told: int) -> Opened:
        """Begin a new event file beside those that are there; the settings go into the first one."""
        from tensorboardX import SummaryWriter

        directory = self._directory(start, known)
        earlier = _files(directory)
        goes_on = known is not None and earlier > 0
        # A reader drops what earlier files have of steps that come again. By the library's own name two files of one
        # second would be one.
        purged, own = told if goes_on else 0, f".{earlier:04d}"
        self._writer = SummaryWriter(str(directory), purge_step=purged, filename_suffix=own)
        if not goes_on:
            rows = [f"| {key} | {_cell(as_text(value))} |" for key, value in {**start.settings, **start.tags}.items()]
            self._writer.add_text("settings", "\n".join(("| setting | value |", "| --- | --- |", *rows)), 0)
        if start.simulated:
            self._writer.add_text("simulated", simulated_notice(), 0)
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
        for name, value in point.metrics.items():
            self._opened.add_scalar(name, value, point.step)
        self._opened.flush()

    def end(self, end: End) -> None:
        """Write how it ended, the final numbers, the skills as text and the picture as an image."""
        writer = self._opened
        writer.add_text("end", "\n".join(f"- {name}: {words}" for name, words in end.words.items()), end.step)
        for name, value in end.numbers.items():
            writer.add_scalar(name, value, end.step)
        if self._settings.artifacts:
            for step, (name, path) in enumerate(end.skills.items()):
                is_best = name == "best_skill.md"
                text = path.read_text("utf-8")
                writer.add_text("best_skill" if is_best else "skill", text, end.step if is_best else step)
            if end.picture is not None:
                self._add_picture(end.picture.read_bytes(), step=end.step)
        writer.flush()

    def close(self, status: Status) -> None:
        """Close the file."""
        self._opened.close()

    @property
    def _opened(self) -> SummaryWriter:
        assert self._writer is not None, "the run is open"
        return self._writer

    def _add_picture(self, png: bytes, *, step: int) -> None:
        from tensorboardX.proto import summary_pb2

        messages: Any = summary_pb2  # They are made when it is imported.

        width, height = struct.unpack(">II", png[16:24])  # Every PNG image has them there.
        image = messages.Summary.Image(height=height, width=width, colorspace=4, encoded_image_string=png)
        value = messages.Summary.Value(tag="training_dashboard", image=image)
        file = self._opened.file_writer
        assert file is not None, "the file is open"
        file.add_summary(messages.Summary(value=[value]), step)


def _files(directory: Path) -> int:
    return len(list(directory.glob("events.out.tfevents.*")))


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
