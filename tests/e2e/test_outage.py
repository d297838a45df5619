"""An outage is never a score: every way in which a provider can fail, before and after the baseline."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import in_a_process
from tests.support.runs import SMALL, read_json, views, write_run

from skillopt.api import train
from skillopt.errors import MeasurementError, ModelError
from skillopt.events import Event, RunEnded, StepCommitted
from skillopt.run.outcome import EndState
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call, Fault, Weather

SKILLOPT = Path(sys.executable).with_name("skillopt")

OUTAGES: dict[str, tuple[Fault, str]] = {
    "500": (Fault("status", 500, "the server is on fire"), "the server is on fire"),
    "401": (Fault("status", 401, "Incorrect API key provided."), "Incorrect API key provided."),
    "timeout": (Fault("hang"), "no answer within 0.3 s"),
    "reset": (Fault("reset"), "the connection broke"),
    "cut_body": (Fault("cut_body"), "the connection broke"),
    "stalled_body": (Fault("stalled_body"), "no answer within 0.3 s"),
    "garbage": (Fault("garbage"), "expected JSON"),
    "no_choices": (Fault("no_choices"), "no whole reply"),
    "reasoning_only": (Fault("reasoning_only"), "holds only reasoning"),
    "429": (Fault("status", 429, "slow down", retry_after="86400"), "slow down"),
    "quota": (Fault("status", 429, "quota exceeded", error_type="insufficient_quota"), "quota exceeded"),
    "not_logged_in": (Fault("status", 403, "Not logged in"), "Not logged in"),
}
"""What goes wrong, and the words of it that must reach the person."""


def lasting(fault: Fault, *, model: str = "target", from_call: int = 0) -> Weather:
    """Weather that strikes every call to a model, from the n-th call on."""
    return lambda call: fault if call.model == model and call.number >= from_call else None


def scores_in(directory: Path) -> list[Any]:
    """Every score that a run directory shows."""
    rows = [row for path in directory.rglob("results.json") for row in read_json(path)]
    return [row["hard"] for row in rows if "hard" in row]


@pytest.mark.parametrize("name", OUTAGES)
async def test_an_outage_from_the_beginning_is_an_error_with_the_providers_words(tmp_path: Path, name: str) -> None:
    """F1, F2, F4, F9: no baseline, no score, no history; the first distinct error is the message."""
    fault, words = OUTAGES[name]
    told: list[Event] = []
    async with SimulatedServer(SMALL, weather=lasting(fault)) as server:
        config = write_run(tmp_path, server=server, settings={"model.target.timeout": 0.3})
        with pytest.raises((ModelError, MeasurementError)) as caught:
            await train(config, subscribers=[told.append])
        assert len(server.calls) <= 8
    assert words in str(caught.value)
    ended = told[-1]
    assert isinstance(ended, RunEnded)
    assert (ended.state, ended.summary) == ("provider_failed", read_json(tmp_path / "run" / "summary.json"))
    assert words in str(ended.summary["message"])
    assert "selection" not in ended.summary
    assert not {"history.json", "best_skill.md"} & {path.name for path in (tmp_path / "run").iterdir()}
    assert scores_in(tmp_path / "run") == []


async def test_three_timeouts_of_four_are_one_measured_and_three_missing(tmp_path: Path) -> None:
    """F1: the timeout that the user set reaches the socket, and the score is not a quarter."""
    others = [task.question for task in SMALL.tasks[1:4]]

    def weather(call: Call) -> Fault | None:
        messages: Any = call.body["messages"]
        return Fault("hang") if messages[-1]["content"] in others else None

    async with SimulatedServer(SMALL, weather=weather) as server:
        config = write_run(tmp_path, server=server, settings={"model.target.timeout": 0.3})
        rows = (tmp_path / "tasks.jsonl").read_text("utf-8").splitlines()
        for split, part in (("train", rows[4:8]), ("val", rows[:4]), ("test", rows[8:12])):
            (tmp_path / f"{split}.jsonl").write_text("\n".join(part), "utf-8")
        overrides = ["env.split_mode=split_dir", f"env.split_dir={tmp_path}"]
        with pytest.raises(MeasurementError) as caught:
            await train(config, overrides)
        assert server.abandoned == 3
    assert "of 4 tasks could not be measured" in str(caught.value)
    assert "no answer within 0.3 s" in str(caught.value)
    assert scores_in(tmp_path / "run") == []


class Outage:
    """Weather that strikes every call to a model once a step is committed, until it is over."""

    def __init__(self, model: str, *, after_step: int) -> None:
        self._model = model
        self._after_step = after_step
        self._committed = -1
        self.struck = 0
        self.over = False

    def watch(self, event: Event) -> None:
        if isinstance(event, StepCommitted):
            self._committed += 1

    def __call__(self, call: Call) -> Fault | None:
        if call.model != self._model or self._committed < self._after_step or self.over:
            return None
        self.struck += 1
        return Fault("status", 503, "no capacity left")


@pytest.mark.parametrize("model", ["target", "optimizer"])
async def test_an_outage_in_the_middle_keeps_what_was_reached_and_the_next_start_goes_on(
    tmp_path: Path, model: str
) -> None:
    """F2, F9, F10, F14: no verdict, best skill and history stay; mended, it ends as if nothing had been."""
    outage = Outage(model, after_step=1)
    async with SimulatedServer(SMALL, weather=outage) as server:
        whole = await train(write_run(tmp_path, server=server, settings={"env.out_root": "whole"}))
        asked = len(server.calls)
        config = write_run(tmp_path, server=server)
        outcome = await train(config, subscribers=[outage.watch])
        directory = outcome.directory
        history, summary = read_json(directory / "history.json"), read_json(directory / "summary.json")

        assert (outcome.state, summary["state"], summary["exit_code"]) == ("provider_failed", "provider_failed", 13)
        assert "no capacity left" in summary["message"]
        assert [record["step"] for record in history] == [0, 1]
        assert summary["selection"]["best"]["solved"] == history[1]["val_solved"] > 0
        assert (directory / "best_skill.md").read_text("utf-8") == outcome.best_skill.text
        assert outcome.best_skill.text == (directory / "skills" / "skill_v0001.md").read_text("utf-8")
        assert summary["test"] == {"seed": None, "best": None}
        assert not (directory / "steps" / "step_0002").exists()

        outage.over = True
        assert await train(config) == replace(whole, directory=directory)
        assert len(server.calls) - outage.struck == 2 * asked
    assert outage.struck > 0
    assert views(directory) == views(whole.directory)


@pytest.mark.parametrize("name", ["500", "401", "timeout"])
async def test_the_command_ends_with_its_message_and_exit_code_13(tmp_path: Path, name: str) -> None:
    """F2, F4: exit code not 0, and no traceback for what is no fault of ours."""
    fault, words = OUTAGES[name]
    async with SimulatedServer(SMALL, weather=lasting(fault)) as server:
        config = write_run(tmp_path, server=server, settings={"model.target.timeout": 0.3})
        code, said, error = await asyncio.to_thread(in_a_process, "train", config, cwd=tmp_path)
    assert code == EndState.PROVIDER_FAILED.exit_code == 13
    assert words in error
    assert error.startswith("error: ")
    assert "Traceback" not in said + error


async def test_the_command_ends_with_13_too_when_the_baseline_was_measured_before(tmp_path: Path) -> None:
    weather = lasting(OUTAGES["500"][0], from_call=8)
    async with SimulatedServer(SMALL, weather=weather) as server:
        config = write_run(tmp_path, server=server)
        result = await asyncio.to_thread(
            subprocess.run, [SKILLOPT, "train", config], capture_output=True, text=True, check=False
        )
    assert result.returncode == 13
    assert "provider_failed: rollout: 1 of 4 tasks could not be measured" in result.stdout
    assert "the server is on fire" in result.stdout
    assert read_json(tmp_path / "run" / "summary.json")["state"] == "provider_failed"
