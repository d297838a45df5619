"""One command at a time works in a run directory; the second one says which is the first, and pays nothing."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.test_signals import AtCall, Command
from tests.support.runs import SMALL, views, write_run

from skillopt.api import train
from skillopt.errors import RunDirectoryError
from skillopt.run.lock import HOLDER_NAME
from skillopt.simulation.server import SimulatedServer

WORDS: dict[str, tuple[str, ...]] = {"train": (), "eval": ("--out", "run"), "noise": ("--out", "run")}


@pytest.mark.parametrize(("first", "second"), [("train", "train"), ("train", "eval"), ("eval", "noise")])
async def test_a_second_command_names_the_first_and_asks_nobody(tmp_path: Path, first: str, second: str) -> None:
    """Started while the first one is at a call: what would be paid twice is refused with code 1."""
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        config = write_run(tmp_path, server=server)
        one = Command(first, config, *WORDS[first], cwd=tmp_path)
        codes: list[int] = []
        other: list[Command] = []

        async def start_another() -> None:
            other.append(Command(second, config, *WORDS[second], cwd=tmp_path))
            codes.append(await other[0].end())

        at.number, at.act = 2, start_another
        assert await one.end() == 0, one.err
        asked = len(server.calls)
        assert await Command(first, config, *WORDS[first], cwd=tmp_path).end() == 0
        assert len(server.calls) == asked, "the first one has paid for all of it, once"
    assert codes == [1]
    run = tmp_path / "run"
    message, advice = other[0].err.splitlines()
    assert message.startswith(f"error: {run if second == 'train' else 'run'} is in use: `skillopt {first}` works in")
    assert f"(process {one.process.pid} on " in message
    assert f"kill {one.process.pid}" in advice
    assert not (run / HOLDER_NAME).exists()


async def test_two_evaluations_one_after_the_other_share_a_directory_and_pay_once(tmp_path: Path) -> None:
    async with SimulatedServer(SMALL) as server:
        config = write_run(tmp_path, server=server)
        for _ in range(2):
            assert await Command("eval", config, "--out", "shared", cwd=tmp_path).end() == 0
        assert len(server.calls) == 8


async def test_a_killed_holder_keeps_nobody_out(tmp_path: Path) -> None:
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        config = write_run(tmp_path, server=server)
        command = Command("train", config, cwd=tmp_path)
        at.number, at.act = 10, command.sends(signal.SIGKILL)
        assert await command.end() == -signal.SIGKILL
        assert (tmp_path / "run" / HOLDER_NAME).exists()
        assert await Command("train", config, cwd=tmp_path).end() == 0
    assert not (tmp_path / "run" / HOLDER_NAME).exists()


async def test_within_one_process_too(tmp_path: Path) -> None:
    at = AtCall()
    refused: list[Any] = []
    async with SimulatedServer(SMALL, delay=at) as server:
        config = write_run(tmp_path, server=server, settings={"env.out_root": "whole"})
        whole = (await train(config)).directory
        config = write_run(tmp_path, server=server)

        async def start_another() -> None:
            refused.extend(await asyncio.gather(train(config), return_exceptions=True))

        at.number, at.act = len(server.calls) + 10, start_another
        outcome = await train(config)
    assert isinstance(refused[0], RunDirectoryError) and "`skillopt train` works in it" in refused[0].message
    assert views(outcome.directory) == views(whole)
