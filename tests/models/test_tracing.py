"""Whether there is anything to trace to, and that what fails in it fails alone."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from tests.support.commands import clean_environment
from tests.support.spans import Kept, attributes, kept, set_for_a_test

from skillopt.models.tracing import Tracing, configured_tracer, find_tracing

__all__ = ["kept"]


class Broken(SpanProcessor):
    """A processor of the user's that raises where it is told to."""

    def __init__(self, *, at: str) -> None:
        self._at = at

    def on_start(self, span: Any, parent_context: Any = None) -> None:
        if self._at == "start":
            raise OSError("key=sk-secret")

    def on_end(self, span: Any) -> None:
        if self._at == "end":
            raise OSError("key=sk-secret")


def test_without_a_provider_there_is_no_tracer_and_the_library_is_not_imported() -> None:
    code = (
        "import sys, skillopt.models.tracing as tracing\n"
        "assert tracing.configured_tracer() is None is tracing.find_tracing()\n"
        "assert not [name for name in sys.modules if name.startswith('opentelemetry')]\n"
    )
    variables = {"OTEL_TRACES_EXPORTER": "otlp", "OTEL_PYTHON_TRACER_PROVIDER": "sdk_tracer_provider"}
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**clean_environment(), **variables}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr


def test_a_library_that_somebody_imported_is_no_provider() -> None:
    assert configured_tracer() is None
    assert find_tracing() is None


def test_a_provider_that_is_switched_off_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    set_for_a_test(trace.NoOpTracerProvider(), monkeypatch)
    assert configured_tracer() is None
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    set_for_a_test(TracerProvider(shutdown_on_exit=False), monkeypatch)
    assert configured_tracer() is None


def test_the_spans_of_the_process_s_provider_name_the_product(kept: Kept) -> None:
    tracing = find_tracing()
    assert tracing is not None
    tracing.end(tracing.begin("one", {}), {"known": 1})
    (span,) = kept.spans
    assert attributes(span) == {"known": 1}
    assert span.instrumentation_scope is not None
    assert span.instrumentation_scope.name == "skillopt"
    assert span.instrumentation_scope.version


def test_a_provider_that_cannot_be_loaded_is_told_and_there_is_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_PYTHON_TRACER_PROVIDER", "nowhere to be found")
    assert configured_tracer() is None
    assert "OpenTelemetry failed (StopIteration), so no more spans are written" in caplog.messages


def test_within_a_run_its_tracing_is_found_and_outside_of_it_another(kept: Kept) -> None:
    tracer = configured_tracer()
    assert tracer is not None
    of_the_run = Tracing(tracer, tell=pytest.fail)
    span = of_the_run.begin("run", {})
    with of_the_run.current(span):
        assert find_tracing() is of_the_run
        assert trace.get_current_span() is span
    with of_the_run.current(None):
        assert find_tracing() is of_the_run
    assert find_tracing() is not of_the_run
    assert not trace.get_current_span().is_recording()


def test_a_span_stands_below_the_one_that_is_named_else_below_the_current_one(kept: Kept) -> None:
    tracing = Tracing(kept.provider.get_tracer("test"), tell=pytest.fail)
    outer, other = tracing.begin("outer", {}), tracing.begin("other", {})
    with tracing.current(outer):
        tracing.end(tracing.begin("of the current one", {}), {})
        tracing.end(tracing.begin("of a named one", {}, parent=other), {})
    tracing.end(outer, {})
    tracing.end(other, {}, error="500")
    found = {span.name: span for span in kept.spans}
    assert kept.parent(found["of the current one"]) is found["outer"]
    assert kept.parent(found["of a named one"]) is found["other"]
    assert found["outer"].parent is None
    assert found["other"].status.status_code is trace.StatusCode.ERROR
    assert found["other"].status.description is None
    assert attributes(found["other"]) == {"error.type": "500"}
    assert found["outer"].status.status_code is trace.StatusCode.UNSET


def test_a_processor_that_ends_the_program_ends_nothing_but_the_tracing() -> None:
    class Ending(SpanProcessor):
        def on_start(self, span: object, parent_context: object = None) -> None:
            raise SystemExit("no licence")

    told = list[str]()
    tracing = Tracing(Kept(Ending()).provider.get_tracer("test"), tell=told.append)
    assert tracing.begin("one", {}) is None
    assert told == ["OpenTelemetry failed (SystemExit), so no more spans are written"]


@pytest.mark.parametrize("at", ["start", "end"])
def test_a_processor_that_raises_is_told_once_without_its_words_and_ends_the_tracing(at: str) -> None:
    told = list[str]()
    tracing = Tracing(Kept(Broken(at=at)).provider.get_tracer("test"), tell=told.append)
    for _ in range(2):
        span = tracing.begin("one", {})
        tracing.note(span, "event", {})
        tracing.end(span, {})
    assert told == ["OpenTelemetry failed (OSError), so no more spans are written"]
    assert tracing.begin("another", {}) is None


def test_outside_of_a_run_a_failure_is_logged(kept: Kept, caplog: pytest.LogCaptureFixture) -> None:
    kept.provider.add_span_processor(Broken(at="start"))
    tracing = find_tracing()
    assert tracing is not None
    tracing.begin("one", {})
    tracing.begin("two", {})
    assert caplog.messages == ["OpenTelemetry failed (OSError), so no more spans are written"]
