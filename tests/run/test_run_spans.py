"""The spans around a run's calls, from the events of a run."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode
from tests.models.test_tracing import Broken
from tests.support.spans import Kept, attributes, kept

from skillopt.errors import FatalModelError
from skillopt.events import EpochStageCommitted, Event, RunEnded, RunStarted, StageStarted, StepCommitted, Warned
from skillopt.models.tracing import find_tracing
from skillopt.run.run_spans import RunSpans
from skillopt.types import Place

__all__ = ["kept"]

STARTED = RunStarted("run", 2, 2, {}, {"target": "ollama:qwen3", "optimizer": "openai:gpt-5.5"}, simulated=False)


def ask(place: Place) -> None:
    """What a call of a place does with its span."""
    tracing = find_tracing()
    assert tracing is not None
    name = f"{place.stage} {place.step}"
    tracing.end(tracing.begin(name, {}, parent=tracing.parent_of(place)), {})


def step(spans: RunSpans, epoch: int, number: int, action: str = "accept") -> None:
    for stage in ("rollout", "reflect", "gate"):
        spans(StageStarted(stage, epoch, number))
        ask(Place(stage, epoch, number))
    spans(StepCommitted({"step": number, "epoch": epoch, "action": action}))


def between(spans: RunSpans, epoch: int, number: int) -> None:
    spans(StageStarted("slow_update", epoch, number))
    ask(Place("slow_update", epoch, number))
    spans(EpochStageCommitted("slow_update", epoch, {}))


def around(kept: Kept, name: str) -> list[tuple[str, object]]:
    """The spans around the one of a name, innermost first."""
    found = list[tuple[str, object]]()
    (span,) = kept.named(name)
    parent = kept.parent(span)
    while parent is not None:
        known = attributes(parent)
        found.append((parent.name, known.get("skillopt.step") or known.get("skillopt.epoch") or known["skillopt.run"]))
        parent = kept.parent(parent)
    return found


def test_a_call_stands_in_its_step_its_epoch_and_its_run(kept: Kept) -> None:
    spans = RunSpans("my run")
    with spans.around(pytest.fail):
        spans(STARTED)
        spans(StageStarted("baseline", 0, 0))
        ask(Place("baseline"))
        spans(StepCommitted({"step": 0, "epoch": 0, "action": "baseline"}))
        step(spans, 1, 1)
        step(spans, 1, 2, "reject")
        step(spans, 2, 3)
        between(spans, 2, 3)
        for stage in ("final", "test"):
            spans(StageStarted(stage, 2, 3))
            ask(Place(stage, 2, 3))
        spans(RunEnded("improved", "", {}))
    run = ("skillopt.run", "my run")
    assert around(kept, "baseline 0") == [run]
    assert around(kept, "gate 1") == [("skillopt.step", 1), ("skillopt.epoch", 1), run]
    assert around(kept, "rollout 2") == [("skillopt.step", 2), ("skillopt.epoch", 1), run]
    assert around(kept, "reflect 3") == [("skillopt.step", 3), ("skillopt.epoch", 2), run]
    assert around(kept, "slow_update 3") == [("skillopt.epoch", 2), run]
    assert around(kept, "final 3") == around(kept, "test 3") == [run]
    assert [attributes(span)["skillopt.action"] for span in kept.named("skillopt.step")] == [
        "accept",
        "reject",
        "accept",
    ]
    assert [attributes(span) for span in kept.named("skillopt.run")] == [
        {
            "skillopt.run": "my run",
            "skillopt.model.target": "ollama:qwen3",
            "skillopt.model.optimizer": "openai:gpt-5.5",
            "skillopt.end_state": "improved",
        }
    ]
    assert {span.status.status_code for span in kept.spans} == {StatusCode.UNSET}


def ended_in_order(first: ReadableSpan, second: ReadableSpan) -> bool:
    return (first.end_time or 0) <= (second.start_time or 0)


def test_an_epoch_ends_where_the_next_one_begins(kept: Kept) -> None:
    spans = RunSpans("run")
    with spans.around(pytest.fail):
        step(spans, 1, 1)
        between(spans, 1, 1)
        step(spans, 2, 2)
    first, second = kept.named("skillopt.epoch")
    assert ended_in_order(first, second)
    assert ended_in_order(*kept.named("skillopt.step"))


def test_a_call_of_a_step_that_is_over_stands_in_its_epoch_and_one_of_an_epoch_that_is_over_in_the_run(
    kept: Kept,
) -> None:
    spans = RunSpans("run")
    with spans.around(pytest.fail):
        step(spans, 1, 1)
        step(spans, 1, 2)
        ask(Place("late", 1, 1))
        step(spans, 2, 3)
        ask(Place("very late", 1, 1))
    assert [name for name, _ in around(kept, "late 1")] == ["skillopt.epoch", "skillopt.run"]
    assert [name for name, _ in around(kept, "very late 1")] == ["skillopt.run"]


def test_what_a_stop_leaves_open_is_ended_and_a_failed_provider_is_an_error(kept: Kept) -> None:
    spans = RunSpans("run")
    with spans.around(pytest.fail):
        spans(StageStarted("rollout", 1, 1))
        spans(RunEnded("provider_failed", "words of the provider", {}))
    assert [span.name for span in kept.spans] == ["skillopt.step", "skillopt.epoch", "skillopt.run"]
    assert "skillopt.action" not in attributes(kept.spans[0])
    assert attributes(kept.spans[-1])["error.type"] == "provider_failed"
    assert kept.spans[-1].status.status_code is StatusCode.ERROR
    assert kept.spans[-1].status.description is None


@pytest.mark.parametrize(
    ("error", "wanted"),
    [(FatalModelError("m: no", status=401), "401"), (asyncio.CancelledError(), "cancelled"), (OSError(), "OSError")],
)
def test_what_ends_a_run_without_an_end_is_an_error_of_its_kind(kept: Kept, error: BaseException, wanted: str) -> None:
    with pytest.raises(type(error)), RunSpans("run").around(pytest.fail):
        raise error
    (span,) = kept.spans
    assert attributes(span)["error.type"] == wanted


def test_a_run_stands_below_the_span_that_is_current_where_it_is_started(kept: Kept) -> None:
    with (
        kept.provider.get_tracer("the user's").start_as_current_span("my experiment"),
        RunSpans("run").around(pytest.fail),
    ):
        pass
    run, experiment = kept.spans
    assert kept.parent(run) is experiment


def test_without_a_provider_nothing_is_done() -> None:
    spans = RunSpans("run")
    with spans.around(pytest.fail):
        spans(STARTED)
        spans(StageStarted("rollout", 1, 1))
        spans(StepCommitted({"step": 1, "epoch": 1, "action": "accept"}))
        spans(RunEnded("improved", "", {}))
        assert not trace.get_current_span().is_recording()


@pytest.mark.parametrize("at", ["start", "end"])
def test_a_processor_that_raises_is_one_warning_of_the_run(kept: Kept, at: str) -> None:
    kept.provider.add_span_processor(Broken(at=at))
    told = list[Event]()
    spans = RunSpans("run")
    with spans.around(told.append):
        spans(STARTED)
        step(spans, 1, 1)
        step(spans, 2, 2)
        spans(RunEnded("improved", "", {}))
    assert told == [Warned("OpenTelemetry failed (OSError), so no more spans are written")]
