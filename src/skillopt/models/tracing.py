"""OpenTelemetry, where this process has a tracer provider: spans begun and ended, and failures in that held off.

No provider is set here and none is configured; the library is not even imported where nobody else has. What the spans
of a call are is `spans`' part, and those around a run's calls are `run/run_spans.py`'s.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeAlias

from skillopt.types import Place

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

Attributes: TypeAlias = Mapping[str, str | int | float | tuple[str, ...]]
"""Attributes of a span or an event, by their names."""

_IN_CONTEXT = "skillopt.tracing"
"""Under which name a context of OpenTelemetry holds a run's tracing."""


def configured_tracer() -> Tracer | None:
    """Return a tracer of the provider that this process has, or None where it has none.

    Whoever sets a provider has imported the library, so where nobody has, it is not imported here either.
    """
    if "opentelemetry.trace" not in sys.modules:
        return None
    from opentelemetry import trace

    from skillopt import __version__

    try:
        tracer = trace.get_tracer("skillopt", __version__)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the seam to the user's provider, which may be loaded only here
        _log(_words(error))
        return None
    # The library's own stand-ins, for no provider and for one that is switched off.
    return None if isinstance(tracer, trace.ProxyTracer | trace.NoOpTracer) else tracer


def find_tracing() -> Tracing | None:
    """Return the tracing of the run that this is called in, else one of its own; None where spans go nowhere."""
    tracer = configured_tracer()
    if tracer is None:
        return None
    from opentelemetry import context

    found = context.get_value(_IN_CONTEXT)
    return found if isinstance(found, Tracing) else Tracing(tracer, tell=_log)


class Tracing:
    """Begins and ends spans, and holds off whatever fails in that.

    Exporters and processors are foreign code of the user's. The first failure that reaches us is told, and ends the
    tracing and nothing else.

    Args:
        tracer: Where spans come from.
        tell: Told of the failure, in a sentence for a person.
        parent_of: The span around a call of a place; None for whatever span is current there.
    """

    def __init__(
        self,
        tracer: Tracer,
        *,
        tell: Callable[[str], None],
        parent_of: Callable[[Place], Span | None] = lambda _: None,
    ) -> None:
        self._tracer = tracer
        self._tell = tell
        self._broken = False
        self.parent_of = parent_of

    def begin(
        self,
        name: str,
        attributes: Attributes,
        *,
        parent: Span | None = None,
        start: int | None = None,
        remote: bool = False,
    ) -> Span | None:
        """Begin a span.

        Args:
            name: Its name, one of few.
            attributes: What is known of it already.
            parent: The span around it; None for the current one, if there is any.
            start: When it began, in nanoseconds since 1970; None for now.
            remote: Whether it is a call that leaves the process.

        Returns:
            The span; None where tracing has failed.
        """
        if self._broken:
            return None
        from opentelemetry.trace import SpanKind, set_span_in_context

        with self._held_off():
            return self._tracer.start_span(
                name,
                None if parent is None else set_span_in_context(parent),
                SpanKind.CLIENT if remote else SpanKind.INTERNAL,
                dict(attributes),
                start_time=start,
            )
        return None

    def note(self, span: Span | None, event: str, attributes: Attributes) -> None:
        """Add an event to a span."""
        if span is not None:
            with self._held_off():
                span.add_event(event, dict(attributes))

    def end(self, span: Span | None, attributes: Attributes, *, error: str = "") -> None:
        """End a span with what is known of it by now, as failed where `error` names a kind of error."""
        if span is None:
            return
        from opentelemetry.trace import StatusCode

        with self._held_off():
            span.set_attributes(dict(attributes))
            if error:
                # Without a description: an error's words may hold what was asked.
                span.set_attribute("error.type", error)
                span.set_status(StatusCode.ERROR)
            span.end()

    @contextmanager
    def current(self, span: Span | None) -> Generator[None]:
        """Have a span, and this tracing, current for the block and for the tasks that it starts."""
        from opentelemetry import context
        from opentelemetry.trace import set_span_in_context

        around = context.get_current() if span is None else set_span_in_context(span)
        token = context.attach(context.set_value(_IN_CONTEXT, self, around))
        try:
            yield
        finally:
            context.detach(token)

    @contextmanager
    def _held_off(self) -> Generator[None]:
        try:
            yield
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the seam to the user's processors: tracing ends no call
            if not self._broken:
                self._broken = True
                self._tell(_words(error))


def _words(error: BaseException) -> str:
    # Without its own words, which are foreign: an exporter's may hold its key.
    return f"OpenTelemetry failed ({type(error).__name__}), so no more spans are written"


def _log(message: str) -> None:
    """Tell it as OpenTelemetry tells what fails in it, where nobody listens to a run."""
    logging.getLogger(__name__).warning(message)
