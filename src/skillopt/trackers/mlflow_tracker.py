# pyright: reportUnknownMemberType=false
"""MLflow: a run of an experiment, through a client of its own, so that the program's own current run is not touched."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from skillopt.config.tracker_settings import MlflowSettings
from skillopt.trackers.base import Opened, Tracker, loaded
from skillopt.trackers.told import End, Point, Start, Status, as_text

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

_LONGEST_KEY: Final = 250
_LONGEST_VALUE: Final = 6000
_IN_A_BATCH: Final = 100
_IN_EVERY_STEP: Final = "scores/best"


class MlflowTracker(Tracker):
    """A run in MLflow.

    Args:
        settings: Its section.
    """

    def __init__(self, settings: MlflowSettings) -> None:
        self._settings = settings
        self._uri = settings.tracking_uri
        self._attached = ""
        self._run = ""
        self._client: MlflowClient | None = None
        self._quiet = _Quiet(threading.get_ident())
        mlflow = loaded("mlflow")
        if settings.attach and mlflow is not None and (active := mlflow.active_run()) is not None:
            self._attached, self._uri = str(active.info.run_id), str(mlflow.get_tracking_uri())

    @property
    def attached(self) -> str:
        """The id of the run that was open."""
        return self._attached

    def open(self, start: Start, known: str | None, *, told: int) -> Opened:
        """Open the run; where it is gone, or deleted, a new one."""
        if loaded("mlflow") is None:
            _keep_usage_to_itself()
        from mlflow import MlflowClient

        self._quiet = _Quiet(threading.get_ident())
        self._quiet.begin()
        self._client = client = MlflowClient(tracking_uri=self._uri)
        run = self._existing(client, self._attached or known)
        found = run is not None
        if run is None:
            name = self._settings.run_name or start.name
            run = client.create_run(self._experiment(client), run_name=name, tags=_tags(start.tags))
        elif not self._attached:
            client.update_run(run.info.run_id, status="RUNNING")
        self._run = str(run.info.run_id)
        self._tell_settings(client, start, told=run.data.params)
        if not found or self._run != known:
            return Opened(self._run, known=False)
        # A run that others log into too does not tell whose steps it has.
        history = [] if self._attached else client.get_metric_history(self._run, _IN_EVERY_STEP)
        return Opened(self._run, known=True, steps=len({metric.step for metric in history}))

    def log(self, point: Point) -> None:
        """Log the numbers of a step."""
        self._log_metrics(point.metrics, step=point.step)

    def end(self, end: End) -> None:
        """Set the end as tags, log the final numbers that are not there yet, and send the files."""
        client = self._opened
        self._set_tags(end.words)
        known: Mapping[str, float] = client.get_run(self._run).data.metrics
        self._log_metrics({name: one for name, one in end.numbers.items() if known.get(name) != one}, step=end.step)
        for name, path in end.files.items() if self._settings.artifacts else ():
            folder = PurePosixPath(name).parent.as_posix()
            client.log_artifact(self._run, str(path), artifact_path=None if folder == "." else folder)

    def close(self, status: Status) -> None:
        """Set the run's status; a run that was open already is left as it is."""
        try:
            if not self._attached:
                self._opened.set_terminated(self._run, status=status.value.upper())
        finally:
            self._quiet.end()

    @property
    def _opened(self) -> MlflowClient:
        assert self._client is not None, "the run is open"
        return self._client

    def _existing(self, client: MlflowClient, run: str | None) -> Run | None:
        from mlflow.exceptions import MlflowException

        if run is None:
            return None
        try:
            found = client.get_run(run)
        except MlflowException as error:
            if error.error_code != "RESOURCE_DOES_NOT_EXIST":
                raise
            return None
        return found if found.info.lifecycle_stage == "active" else None

    def _experiment(self, client: MlflowClient) -> str:
        found = client.get_experiment_by_name(self._settings.experiment)
        return str(client.create_experiment(self._settings.experiment) if found is None else found.experiment_id)

    def _tell_settings(self, client: MlflowClient, start: Start, *, told: Mapping[str, str]) -> None:
        """Log the settings as parameters; those of a run that goes on cannot change, so what did becomes a tag."""
        from mlflow.entities import Param

        wanted = {_key(key): as_text(value)[:_LONGEST_VALUE] for key, value in start.settings.items()}
        fresh = [Param(key, value) for key, value in wanted.items() if key not in told]
        for batch in _batches(fresh):
            client.log_batch(self._run, params=batch, synchronous=True)
        self._set_tags({f"setting.{key}": value for key, value in wanted.items() if told.get(key, value) != value})
        self._set_tags(start.tags)

    def _set_tags(self, words: Mapping[str, str]) -> None:
        from mlflow.entities import RunTag

        tags = [RunTag(key, value) for key, value in _tags(words).items()]
        for batch in _batches(tags):
            self._opened.log_batch(self._run, tags=batch, synchronous=True)

    def _log_metrics(self, metrics: Mapping[str, float], *, step: int) -> None:
        from mlflow.entities import Metric

        now = int(datetime.now(UTC).timestamp() * 1000)
        values = [Metric(name, value, now, step) for name, value in metrics.items()]
        if values:
            self._opened.log_batch(self._run, metrics=values, synchronous=True)


class _Quiet(logging.Filter):
    """Keeps what MLflow says of its own work on one thread, such as making a database, off the training's screen.

    Args:
        thread: The thread.
    """

    def __init__(self, thread: int) -> None:
        super().__init__()
        self._thread = thread
        self._handlers: list[logging.Handler] = []

    def begin(self) -> None:
        """Begin with it."""
        self.end()
        self._handlers = list(logging.getLogger("mlflow").handlers)
        for handler in self._handlers:
            handler.addFilter(self)

    def end(self) -> None:
        """Leave MLflow as it was."""
        for handler in self._handlers:
            handler.removeFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a record is shown."""
        return record.thread != self._thread or record.levelno >= logging.WARNING


def _keep_usage_to_itself() -> None:
    """Have MLflow, which nobody has imported yet, tell those who make it nothing of how it is used.

    Its switch is an environment variable, and those are the user's. Versions without such reports have no such module.
    """
    with suppress(ImportError, AttributeError):
        from mlflow.telemetry import client

        client._set_telemetry_client(None)  # pyright: ignore[reportPrivateUsage]


def _key(name: str) -> str:
    """Return a name as MLflow takes it."""
    return re.sub(r"[^\w.\-/ :]", "_", name)[:_LONGEST_KEY]


def _tags(words: Mapping[str, str]) -> dict[str, str]:
    return {_key(f"skillopt.{name}"): value[:_LONGEST_VALUE] for name, value in words.items()}


def _batches(items: Sequence[Any]) -> list[list[Any]]:
    return [list(items[start : start + _IN_A_BATCH]) for start in range(0, len(items), _IN_A_BATCH)]
