# pyright: reportUnknownMemberType=false
"""trackio: a run of a project in its database on this machine.

It is written through trackio's storage and not by `trackio.init`, which prints on the program's own output, finishes
the run that is open, and keeps failures to itself. A run that the program has open is told by its own methods.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING

from skillopt.config.tracker_settings import TrackioSettings
from skillopt.trackers.base import Opened, Tracker, loaded
from skillopt.trackers.told import End, Point, Start, Status
from skillopt.types import JsonValue

if TYPE_CHECKING:
    from trackio.run import Run


class TrackioTracker(Tracker):
    """A run in trackio.

    Args:
        settings: Its section.
    """

    def __init__(self, settings: TrackioSettings) -> None:
        self._settings = settings
        self._theirs: Run | None = None
        self._run = self._name = ""
        self._config: dict[str, JsonValue] = {}
        trackio = loaded("trackio")
        if settings.attach and trackio is not None:
            self._theirs = trackio.context_vars.current_run.get()

    @property
    def attached(self) -> str:
        """The id of the run that was open."""
        return "" if self._theirs is None else self._theirs.id

    def open(self, start: Start, known: str | None, *, told: int) -> Opened:
        """Open the run; where it is gone, a new one."""
        self._config = {**start.settings, **{f"skillopt.{name}": value for name, value in start.tags.items()}}
        if self._theirs is not None:
            self._run = self._theirs.id
            if isinstance(self._theirs.config, dict):  # It is sent with the first numbers that the run logs.
                self._theirs.config.update(self._config)
            return Opened(self._run, known=self._run == known)
        from trackio.sqlite_storage import SQLiteStorage

        self._name = self._settings.run_name or start.name
        last = None if known is None else SQLiteStorage.get_max_step_for_run(self._settings.project, run_id=known)
        self._run = uuid.uuid4().hex if known is None or last is None else known
        return Opened(self._run, known=last is not None, steps=None if last is None else last + 1)

    def log(self, point: Point) -> None:
        """Log the numbers of a step."""
        self._log(point.metrics, step=point.step, what=str(point.step))

    def end(self, end: End) -> None:
        """Put the end beside the settings, log the final numbers, and keep the files as one artifact."""
        words = {f"skillopt.{name}": words for name, words in end.words.items()}
        self._config |= words
        self._log({**end.numbers, **words}, step=end.step, what=f"end {end.digest}")
        if self._settings.artifacts and end.files:
            self._keep_files(end)

    def close(self, status: Status) -> None:
        """Do nothing: all is written, and a run that was open already is left open."""

    def _log(self, metrics: Mapping[str, float | str], *, step: int, what: str) -> None:
        if self._theirs is not None:
            self._theirs.log(dict(metrics), step=step)
            return
        from trackio.sqlite_storage import SQLiteStorage

        SQLiteStorage.bulk_log(
            project=self._settings.project,
            run=self._name,
            run_id=self._run,
            metrics_list=[dict(metrics)],
            steps=[step],
            config=self._config,
            # What has the same name is written once.
            log_ids=[f"{self._run} {what}"],
        )

    def _keep_files(self, end: End) -> None:
        from trackio import Artifact
        from trackio.sqlite_storage import SQLiteStorage

        artifact = Artifact(re.sub(r"[^A-Za-z0-9._-]", "-", f"skillopt-{self._run}"), type="skill")
        for name, path in end.files.items():
            artifact.add_file(path, name=name)
        if self._theirs is not None:
            self._theirs.log_artifact(artifact)
            return
        project = self._settings.project
        manifest = artifact._build_manifest(project)  # pyright: ignore[reportPrivateUsage]
        SQLiteStorage.commit_artifact_version(
            project=project,
            name=artifact.name,
            type=artifact.type,
            description=None,
            manifest=manifest,
            metadata=None,
            aliases=None,
            run_name=self._name,
            run_id=self._run,
        )
