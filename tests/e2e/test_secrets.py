"""No key reaches a run directory or a message, whatever the server does with it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.runs import SMALL, write_run

from skillopt.api import train
from skillopt.errors import ConfigError
from skillopt.events import Event
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call, Fault

KEY = "sk-planted-4f9d0c7be1a2"
"""A key that can be searched for."""
MASKED = "sk-plant******e1a2"
"""The same key as some servers echo it."""
ENVIRONMENT = {"TARGET_KEY": KEY, "OPENAI_API_KEY": KEY}
SETTINGS: dict[str, Any] = {
    f"model.{role}.{key}": value
    for role in ("target", "optimizer")
    for key, value in (("api_key_env", "TARGET_KEY"), ("attempts", 2))
}


def echo(status: int, *, at: int, times: int = 1) -> Any:
    """Weather that answers some calls with an error that holds the key, whole and masked."""

    def weather(call: Call) -> Fault | None:
        return Fault("status", status, f"Bad key {KEY}, that is {MASKED}") if at <= call.number < at + times else None

    return weather


def assert_no_key(directory: Path, *texts: str) -> None:
    """No file of a directory and no text holds the key or its beginning."""
    files = [path for path in directory.rglob("*") if path.is_file()]
    assert len(files) > 3
    assert not [path for path in files if KEY[:8].encode() in path.read_bytes()]
    assert not [text for text in texts if KEY[:8] in text]


async def test_a_key_that_works_is_sent_and_written_nowhere(tmp_path: Path) -> None:
    """More 18."""
    told: list[Event] = []
    async with SimulatedServer(SMALL, api_key=KEY) as server:
        config = write_run(tmp_path, server=server, settings=SETTINGS)
        outcome = await train(config, subscribers=[told.append], environment=ENVIRONMENT)
    assert outcome.state == "improved"
    assert_no_key(tmp_path / "run", repr(told), repr(outcome))
    assert "TARGET_KEY" in (tmp_path / "run" / "config.yaml").read_text("utf-8")


@pytest.mark.parametrize("status", [401, 400, 503], ids=["refused", "bad_request", "tried_again"])
async def test_a_server_that_echoes_the_key_into_its_error_gives_it_to_nobody(tmp_path: Path, status: int) -> None:
    """More 18: in the middle of a run, where the words go into events, summary and outcome."""
    told: list[Event] = []
    async with SimulatedServer(SMALL, api_key=KEY, weather=echo(status, at=10)) as server:
        config = write_run(tmp_path, server=server, settings=SETTINGS)
        outcome = await train(config, subscribers=[told.append], environment=ENVIRONMENT)
    assert outcome.state == ("improved" if status == 503 else "provider_failed")
    assert "Bad key [key]" in repr(told)
    assert_no_key(tmp_path / "run", repr(told), repr(outcome))


async def test_an_error_before_the_baseline_shows_no_key_on_the_terminal(tmp_path: Path) -> None:
    async with SimulatedServer(SMALL, weather=echo(401, at=0, times=100)) as server:
        config = write_run(tmp_path, server=server, settings=SETTINGS)
        result = await asyncio.to_thread(
            subprocess.run,
            [Path(sys.executable).with_name("skillopt"), "train", config],
            capture_output=True,
            text=True,
            check=False,
            env={**ENVIRONMENT, "PATH": ""},
        )
    assert result.returncode == 13
    assert "Bad key [key]" in result.stderr
    assert_no_key(tmp_path / "run", result.stdout, result.stderr)


@pytest.mark.parametrize("setting", ["model.target.api_key", "model.target.extra_body.token", "env.openai_api_key"])
async def test_a_key_in_the_configuration_is_refused_before_a_directory_is_made(tmp_path: Path, setting: str) -> None:
    """More 18: in any spelling of the setting."""
    config = write_run(tmp_path, settings={setting: KEY})
    with pytest.raises(ConfigError) as caught:
        await train(config)
    assert KEY not in str(caught.value)
    assert not (tmp_path / "run").exists()
