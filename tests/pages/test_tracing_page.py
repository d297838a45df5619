"""The page of traces: its program runs, over real HTTP to a collector, and it names what is in spans and no more."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pytest_httpserver import HTTPServer
from tests.docs.pages import PAGES, ROOT
from tests.support.commands import clean_environment, write_tiny_run
from tests.support.runs import SMALL, write_run
from tests.support.spans import Kept, attributes, events, kept
from werkzeug import Request, Response

from skillopt.api import train
from skillopt.models.spans import call_attributes
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Fault, scripted

__all__ = ["kept"]

PAGE = PAGES["docs/tracing.md"]
CODE = ("models/spans.py", "models/tracing.py", "run/run_spans.py")
NAMES = re.compile(r"(?:gen_ai|skillopt|server|error)\.[\w.]+")


def test_the_program_of_the_page_sends_its_spans_to_a_collector(tmp_path: Path, httpserver: HTTPServer) -> None:
    names = list[str]()

    def collect(http: Request) -> Response:
        for resource in ExportTraceServiceRequest.FromString(http.get_data()).resource_spans:
            names.extend(span.name for scope in resource.scope_spans for span in scope.spans)
        return Response(content_type="application/x-protobuf")

    httpserver.expect_request("/v1/traces", method="POST").respond_with_handler(collect)
    write_tiny_run(tmp_path / "my_experiment")
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)
    # A proxy of this machine is none of the collector's business.
    environment = {
        **{name: value for name, value in clean_environment().items() if "proxy" not in name.lower()},
        "OTEL_EXPORTER_OTLP_ENDPOINT": httpserver.url_for("").rstrip("/"),
    }
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert names.count("skillopt.run") == 1
    assert {"skillopt.step", "skillopt.epoch", "chat target", "chat optimizer"} <= set(names)


async def test_the_page_names_every_attribute_and_event_of_a_run(
    tmp_path: Path, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillopt.models.retry.FIRST_BACKOFF", 0.0)
    faults = [None, Fault("status", 503), *[None] * 40, Fault("status", 401)]
    settings = {"model.target.attempts": 2, "model.target.temperature": 0.5, "model.target.max_tokens": 999}
    async with SimulatedServer(SMALL, weather=scripted(faults)) as server:
        await train(write_run(tmp_path, server=server, settings=settings))
    used = {name for span in kept.spans for name in attributes(span)}
    used |= {name for span in kept.spans for event, found in events(span) for name in (event, *found)}
    used |= {span.name for span in kept.spans if not span.name.startswith("chat ")}
    used |= set(call_attributes({"provider": "p", "model": "m", "reasoning_effort": "low"}))
    # The program is Python, whose modules have dots too; the tree beside it names spans.
    named = set(NAMES.findall(re.sub(r"^```python.*?^```", "", PAGE, flags=re.M | re.S)))
    assert "error.type" in used
    assert used - named == set()
    # What no simulated provider shows, stands in the code all the same.
    code = "".join((ROOT / "src" / "skillopt" / name).read_text("utf-8") for name in CODE)
    assert {name for name in named - used if f'"{name}"' not in code} == set()
