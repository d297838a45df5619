"""OpenTelemetry as a user configures it: the real SDK, its spans kept in memory, for the length of one test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter


class Kept:
    """A provider and the spans that ended, in that order."""

    def __init__(self, *processors: SpanProcessor) -> None:
        self._exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        for processor in (*processors, SimpleSpanProcessor(self._exporter)):
            self.provider.add_span_processor(processor)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        return self._exporter.get_finished_spans()

    @property
    def calls(self) -> list[ReadableSpan]:
        """The spans of model calls."""
        return [span for span in self.spans if "gen_ai.operation.name" in attributes(span)]

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans if span.name == name]

    def parent(self, span: ReadableSpan) -> ReadableSpan | None:
        (parent,) = [one for one in self.spans if span.parent and one.context.span_id == span.parent.span_id] or [None]
        return parent


def attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def events(span: ReadableSpan) -> list[tuple[str, Mapping[str, Any]]]:
    return [(event.name, dict(event.attributes or {})) for event in span.events]


def texts(spans: Sequence[ReadableSpan]) -> str:
    """All that spans say, in one text."""
    return "\n".join(span.to_json() for span in spans)


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    """The provider of this process, for the length of a test; a real one can be set only once."""
    recording = Kept()
    set_for_a_test(recording.provider, monkeypatch)
    yield recording
    recording.provider.shutdown()


def set_for_a_test(provider: trace.TracerProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("opentelemetry.trace._TRACER_PROVIDER", provider)
