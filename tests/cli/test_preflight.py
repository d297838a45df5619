"""The one call to each model; `test_check.py` has the command around it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.runs import SMALL, write_run

from skillopt.cli.preflight import ask_models
from skillopt.config.load import load_config
from skillopt.errors import MeasurementError
from skillopt.run.setup import prepare
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Fault, scripted


async def test_a_failure_that_passes_is_tried_again_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one_bad_moment = scripted([Fault("status", 503)])
    async with SimulatedServer(SMALL, weather=one_bad_moment) as server:
        more = {"model.target.attempts": 2}
        await ask_models(prepare(load_config(write_run(tmp_path, server=server, settings=more))))
        assert [call.model for call in server.calls] == ["target", "target", "optimizer"]
    said = capsys.readouterr()
    assert "attempt 2 in" in said.err
    assert "target    ok" in said.out and "optimizer ok" in said.out


async def test_a_server_that_is_not_there_is_known_after_three_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """F2: whoever checks is waiting; a training goes on trying for longer."""
    monkeypatch.setattr("skillopt.models.retry.FIRST_BACKOFF", 0.0)
    async with SimulatedServer(SMALL, weather=lambda call: Fault("status", 503, "not yet")) as server:
        more = {"model.target.attempts": 10}
        with pytest.raises(MeasurementError, match=r"not yet \(HTTP 503\) \(the last of 3 attempts\)"):
            await ask_models(prepare(load_config(write_run(tmp_path, server=server, settings=more))))
        assert len(server.calls) == 3
