"""The OpenTelemetry spans around a run's calls: one for the run, one for each epoch, one for each step.

A subscriber of the event log, so a replay has them too, with no call in them. Where this process has no tracer provider
there are none, and nothing is done (`models/tracing.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from skillopt.events import Event, RunEnded, RunStarted, StageStarted, StepCommitted, Warned
from skillopt.models.spans import error_type
from skillopt.models.tracing import Attributes, Tracing, configured_tracer
from skillopt.run.outcome import EndState
from skillopt.types import Place

if TYPE_CHECKING:
    from opentelemetry.trace import Span

_AFTER_TRAINING = ("final", "test")
"""Stages that belong to no epoch, whatever number they carry."""


class RunSpans:
    """Follows a run with spans.

    Args:
        name: Name of the run directory, without its parents.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._tracing: Tracing | None = None
        self._run: Span | None = None
        self._epoch: Span | None = None
        self._step: Span | None = None
        self._epochs = self._steps = 0
        self._known: dict[str, str] = {}
        self._failure = ""

    @contextmanager
    def around(self, emit: Callable[[Event], None]) -> Generator[None]:
        """Have the block, in which a run is played, within the run's span.

        Args:
            emit: Told, with a warning, that no more spans are written since the user's provider failed.
        """
        tracer = configured_tracer()
        if tracer is None:
            yield
            return
        self._tracing = Tracing(tracer, tell=lambda message: emit(Warned(message)), parent_of=self._parent_of)
        self._run = self._tracing.begin("skillopt.run", {"skillopt.run": self._name})
        try:
            with self._tracing.current(self._run):
                yield
        except BaseException as error:
            self._failure = error_type(error)
            raise
        finally:
            self._leave_epoch()
            self._tracing.end(self._run, self._known, error=self._failure)

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        match event:
            case RunStarted(models=models):
                self._known |= {f"skillopt.model.{role}": name for role, name in models.items()}
            case StageStarted(stage, epoch, step):
                self._enter(stage, epoch, step)
            case StepCommitted(record):
                self._leave_step({"skillopt.action": str(record["action"])})
            case RunEnded(state):
                self._known["skillopt.end_state"] = state
                self._failure = state if state == EndState.PROVIDER_FAILED else ""
            case _:
                pass

    def _enter(self, stage: str, epoch: int, step: int) -> None:
        if self._tracing is None:
            return
        if stage in _AFTER_TRAINING or epoch > self._epochs:
            self._leave_epoch()
        if epoch > self._epochs:
            self._epochs = epoch
            self._epoch = self._tracing.begin("skillopt.epoch", {"skillopt.epoch": epoch}, parent=self._run)
        if step > self._steps:
            self._steps = step
            numbers = {"skillopt.epoch": epoch, "skillopt.step": step}
            self._step = self._tracing.begin("skillopt.step", numbers, parent=self._epoch)

    def _leave_step(self, known: Attributes) -> None:
        if self._tracing is not None:
            self._tracing.end(self._step, known)
            self._step = None

    def _leave_epoch(self) -> None:
        self._leave_step({})
        if self._tracing is not None:
            self._tracing.end(self._epoch, {})
            self._epoch = None

    def _parent_of(self, place: Place) -> Span | None:
        """The step's span until it is committed, then its epoch's: of the stages between epochs as well."""
        within = self._step if place.step == self._steps else None
        return within or (self._epoch if place.epoch == self._epochs else None) or self._run
