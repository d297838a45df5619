"""OpenTelemetry spans of whole trainings: what is paid is what they say, and nothing that happens to them harms one."""

from __future__ import annotations

import asyncio
import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from tests.models.test_tracing import Broken
from tests.support.commands import clean_environment, in_a_process, write_tiny_run
from tests.support.runs import SMALL, read_json, views, write_run
from tests.support.spans import Kept, attributes, kept, texts

from skillopt.api import evaluate, train
from skillopt.config.load import load_config
from skillopt.events import Event, Warned
from skillopt.run.setup import prepare
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import stormy

__all__ = ["kept"]

KEY = "sk-planted-4f9d0c7be1a2"
SETTINGS: dict[str, Any] = {
    f"model.{role}.{key}": value
    for role in ("target", "optimizer")
    for key, value in (("api_key_env", "SOME_KEY"), ("attempts", 10), ("timeout", 0.5))
}
ENVIRONMENT = {"SOME_KEY": KEY}


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("skillopt.models.retry.FIRST_BACKOFF", 0.0)
    monkeypatch.setattr("skillopt.models.retry.MAX_RETRY_AFTER", 0.004)


def ledger(run: Path) -> list[dict[str, str]]:
    with (run / "ledger.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


async def test_the_spans_of_a_stormy_training_are_its_calls_and_its_bill_and_a_replay_has_none(
    tmp_path: Path, kept: Kept
) -> None:
    async with SimulatedServer(SMALL, api_key=KEY, weather=stormy(3, 0.2)) as server:
        config = write_run(tmp_path, server=server, settings=SETTINGS)
        outcome = await train(config, environment=ENVIRONMENT)
        attempts = sum(attributes(span)["skillopt.attempts"] for span in kept.calls)
        assert attempts == len(server.calls) > len(kept.calls)
        first = len(kept.spans)
        await train(config, environment=ENVIRONMENT)
    rows = ledger(outcome.directory)
    places = [(row["role"], row["stage"], int(row["epoch"]), int(row["step"])) for row in rows if row["used"] == "yes"]
    names = [f"skillopt.{name}" for name in ("role", "stage", "epoch", "step")]
    assert sorted(tuple(attributes(span)[name] for name in names) for span in kept.calls) == sorted(places)
    for name, columns in (("input", ("fresh_tokens", "cached_tokens")), ("output", ("output_tokens",))):
        paid = sum(int(row[column]) for row in rows for column in columns)
        assert sum(attributes(span)[f"gen_ai.usage.{name}_tokens"] for span in kept.calls) == paid
    replayed = kept.spans[first:]
    assert not [span for span in replayed if span in kept.calls]
    assert [span.name for span in replayed].count("skillopt.step") == len(
        read_json(outcome.directory / "history.json")
    ) - 1


async def test_every_call_stands_in_the_step_or_epoch_that_it_was_asked_in(tmp_path: Path, kept: Kept) -> None:
    outcome = await train(write_run(tmp_path))
    runs, epochs, steps = (kept.named(f"skillopt.{name}") for name in ("run", "epoch", "step"))
    assert [attributes(span)["skillopt.run"] for span in runs] == [outcome.directory.name]
    assert [attributes(span)["skillopt.end_state"] for span in runs] == [outcome.state.value]
    history = read_json(outcome.directory / "history.json")
    assert [attributes(span)["skillopt.action"] for span in steps] == [record["action"] for record in history[1:]]
    seen = set[str]()
    for call in kept.calls:
        parent, place = kept.parent(call), attributes(call)
        assert parent is not None
        if place["skillopt.stage"] in ("baseline", "test"):
            assert parent is runs[0]
        elif place["skillopt.stage"] in ("slow_update", "meta_skill"):
            assert parent in epochs
            assert attributes(parent)["skillopt.epoch"] == place["skillopt.epoch"]
        else:
            assert parent in steps
            assert attributes(parent)["skillopt.step"] == place["skillopt.step"]
        seen.add(place["skillopt.stage"])
    assert {"baseline", "rollout", "reflect", "gate", "test"} <= seen
    assert len({span.context.trace_id for span in kept.spans}) == 1


async def test_spans_hold_no_key_no_task_no_skill_and_no_answer(tmp_path: Path, kept: Kept) -> None:
    """More 18: looked for line by line in everything that a run leaves."""
    async with SimulatedServer(SMALL, api_key=KEY, weather=stormy(5, 0.2)) as server:
        outcome = await train(write_run(tmp_path, server=server, settings=SETTINGS), environment=ENVIRONMENT)
    told = texts(kept.spans)
    assert KEY[:10] not in told
    for name in ("best_skill.md", "skills/skill_v0000.md"):
        lines = [line for line in (outcome.directory / name).read_text("utf-8").splitlines() if len(line) > 8]
        assert lines
        assert not [line for line in lines if line in told]
    for row in read_json(outcome.directory / "test_eval" / "results.json"):
        assert row["id"] not in told
        # A short answer may be found by chance, in a clock reading.
        assert not [line for line in row["response"].splitlines() if len(line) > 8 and line in told]


async def test_an_evaluation_has_spans_without_a_run(tmp_path: Path, kept: Kept) -> None:
    setup = prepare(load_config(write_tiny_run(tmp_path)))
    await evaluate(setup, [setup.seed_skill], setup.splits.test, directory=tmp_path / "eval")
    assert len(kept.calls) == len(kept.spans) == len(setup.splits.test)
    assert {attributes(span)["skillopt.stage"] for span in kept.spans} == {"eval"}


@pytest.fixture(scope="module")
def untraced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a training that nobody traced."""
    return asyncio.run(train(write_run(tmp_path_factory.mktemp("untraced")))).directory


class Lost(SpanExporter):
    """An exporter whose collector is away."""

    def __init__(self, *, raises: bool) -> None:
        self._raises = raises

    def export(self, spans: Any) -> SpanExportResult:
        if self._raises:
            raise ConnectionError("no collector")
        return SpanExportResult.FAILURE


@pytest.mark.parametrize("harm", ["none", "start", "end", "raising exporter", "failing exporter"])
async def test_whatever_becomes_of_the_spans_the_training_is_the_same(
    tmp_path: Path, kept: Kept, untraced: Path, harm: str
) -> None:
    if harm in ("start", "end"):
        kept.provider.add_span_processor(Broken(at=harm))
    elif harm != "none":
        kept.provider.add_span_processor(SimpleSpanProcessor(Lost(raises=harm.startswith("raising"))))
    told = list[Event]()
    config = untraced.parent / "config.yaml"
    outcome = await train(config, [f"env.out_root={tmp_path / 'run'}"], subscribers=[told.append])
    assert views(outcome.directory) == views(untraced)
    warnings = [event.message for event in told if isinstance(event, Warned) and "OpenTelemetry" in event.message]
    # What an exporter raises, the SDK holds off and logs itself.
    assert len(warnings) == (1 if harm in ("start", "end") else 0)
    assert "sk-secret" not in repr(told)


def test_the_library_s_variables_alone_trace_nothing_and_load_nothing(tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path)
    code = (
        "import sys\n"
        "from skillopt.cli.main import run\n"
        f"code = run(['train', {str(config)!r}])\n"
        "found = [name for name in sys.modules if name.startswith('opentelemetry')]\n"
        "sys.exit(f'{code} {found}' if code not in (0, 10) or found else 0)\n"
    )
    variables = {"OTEL_TRACES_EXPORTER": "console", "OTEL_SERVICE_NAME": "mine"}
    environment = {**clean_environment(), **variables}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


PROVIDER = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, ConsoleSpanExporter

provider = TracerProvider()
written = open({path!r}, "w", encoding="utf-8")
exporter = ConsoleSpanExporter(out=written, formatter=lambda span: span.to_json(indent=None) + "\\n")
provider.add_span_processor(BatchSpanProcessor(exporter))
trace.set_tracer_provider(provider)
"""


def test_a_provider_that_is_set_before_the_command_begins_gets_its_spans_to_the_last(tmp_path: Path) -> None:
    """As `opentelemetry-instrument` does it: by a `sitecustomize` that Python imports when it starts."""
    config, hook, written = write_tiny_run(tmp_path / "run"), tmp_path / "hook", tmp_path / "spans.jsonl"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(PROVIDER.format(path=str(written)), "utf-8")
    paths = f"{hook}:{clean_environment().get('PYTHONPATH', '')}"
    code, _, said = in_a_process("train", config, cwd=tmp_path, environment={"PYTHONPATH": paths})
    assert code in (0, 10), said
    spans = [json.loads(line) for line in written.read_text("utf-8").splitlines()]
    names = [span["name"] for span in spans]
    assert names[-1] == "skillopt.run"
    assert names.count("chat target") == sum(row["role"] == "target" for row in ledger(tmp_path / "run" / "run"))
