"""Ctrl-C and SIGTERM end what runs in order and soon, and the same command goes on as if nothing had been."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.commands import SKILLOPT, begin
from tests.support.runs import SMALL, read_json, views, write_run

from skillopt.api import train
from skillopt.interruption import GRACE_SECONDS
from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call, Fault

ONE_AT_A_TIME = {f"model.{role}.concurrency": 1 for role in ("target", "optimizer")}
"""Then the call at which a signal is sent is the only one in flight."""


class AtCall:
    """Does something at the moment in which a call, by its number, reaches the server."""

    def __init__(self) -> None:
        self.number = -1
        self.act: Callable[[], Awaitable[None]] | None = None

    async def __call__(self, call: Call) -> None:
        if call.number == self.number and self.act is not None:
            await self.act()


class Command:
    """`skillopt` in a process of its own, in a directory, with what it wrote."""

    def __init__(self, *words: str | Path, cwd: Path) -> None:
        self.process = begin(*map(str, words), cwd=cwd)
        self.out = self.err = ""

    async def end(self) -> int:
        """Wait until it has ended; return its exit code."""
        out, err = await asyncio.to_thread(self.process.communicate)
        self.out, self.err = out.decode("utf-8"), err.decode("utf-8")
        assert self.process.returncode is not None
        return self.process.returncode

    def sends(self, *numbers: int, then: Callable[[], Awaitable[Any]] | None = None) -> Callable[[], Awaitable[None]]:
        """Return what sends it signals, and then does something more."""

        async def act() -> None:
            for number in numbers:
                self.process.send_signal(number)
            if then is not None:
                await then()

        return act


async def hang() -> None:
    await asyncio.Event().wait()


async def whole_run(directory: Path, server: SimulatedServer) -> int:
    """Train without a stop into `whole`; return the number of calls."""
    await train(write_run(directory, server=server, settings={**ONE_AT_A_TIME, "env.out_root": "whole"}))
    return len(server.calls)


def event_types(directory: Path) -> list[str]:
    return [json.loads(line)["event"] for line in (directory / "events.jsonl").read_text("utf-8").splitlines()]


async def test_interrupted_at_many_calls_a_training_ends_in_order_and_goes_on_byte_for_byte(tmp_path: Path) -> None:
    """What is in flight is recorded and nothing more is begun: no call is paid twice, at whatever call it happens."""
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        asked = await whole_run(tmp_path, server)
        config = write_run(tmp_path, server=server, settings=ONE_AT_A_TIME)
        # In the baseline, in steps, between epochs and in the final test.
        stops = [3, asked // 3, 2 * asked // 3, asked - 3]
        for number, stop in enumerate(stops):
            kind = (signal.SIGINT, signal.SIGTERM)[number % 2]
            at.number = asked + stop
            command = Command("train", config, cwd=tmp_path)
            at.act = command.sends(kind)
            assert await command.end() == 128 + kind, command.err
            assert len(server.calls) == asked + stop + 1, "nothing more was begun"
            summary = read_json(tmp_path / "run" / "summary.json")
            assert (summary["state"], summary["message"].split("\n")[0]) == (
                "interrupted",
                f"interrupted ({kind.name})",
            )
            assert event_types(tmp_path / "run")[-1] == "RunEnded"
            assert command.err == (
                f"interrupted ({kind.name})\nWhat was recorded is kept: run the same command again to go on.\n"
            )
            if number:
                assert "\ninterrupted (" in command.out
                assert (tmp_path / "run" / "best_skill.md").exists()
            assert "Traceback" not in command.out + command.err
        at.number = -1
        last = Command("train", config, cwd=tmp_path)
        assert await last.end() == 0
        assert len(server.calls) == 2 * asked, "every call was paid once"
    assert views(tmp_path / "run") == views(tmp_path / "whole")


async def test_a_call_that_hangs_has_its_grace_and_a_second_ctrl_c_none(tmp_path: Path) -> None:
    """Both leave a run that goes on; only the call that was broken off is asked again."""
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        asked = await whole_run(tmp_path, server)
        config = write_run(tmp_path, server=server, settings=ONE_AT_A_TIME)
        at.number = asked + 20
        command = Command("train", config, cwd=tmp_path)
        at.act = command.sends(signal.SIGINT, then=hang)
        assert await command.end() == 130
        waiting = f"interrupted (SIGINT): nothing more is begun; what is under way has {GRACE_SECONDS:g} s to end"
        assert f"warning: {waiting}" in command.out
        assert read_json(tmp_path / "run" / "summary.json")["state"] == "interrupted"

        events = tmp_path / "run" / "events.jsonl"
        events.write_text("", "utf-8")
        command = Command("train", config, cwd=tmp_path)

        async def again() -> None:
            while waiting not in events.read_text("utf-8"):  # the first one was heard
                await asyncio.to_thread(os.sched_yield)
            command.process.send_signal(signal.SIGINT)
            await hang()

        at.number, at.act = len(server.calls), command.sends(signal.SIGINT, then=again)
        assert await command.end() == 130
        assert command.err == "ended at once\n"
        at.number = -1
        assert await Command("train", config, cwd=tmp_path).end() == 0
        assert len(server.calls) == 2 * asked + 2
        assert server.abandoned == 2
    assert views(tmp_path / "run") == views(tmp_path / "whole")


async def test_a_long_pause_that_a_provider_asks_for_holds_up_no_end(tmp_path: Path) -> None:
    at = AtCall()

    def busy(call: Call) -> Fault | None:
        return Fault("status", 429, retry_after="300") if call.number == at.number else None

    async with SimulatedServer(SMALL, delay=at, weather=busy) as server:
        asked = await whole_run(tmp_path, server)
        attempts = {f"model.{role}.attempts": 2 for role in ("target", "optimizer")}
        config = write_run(tmp_path, server=server, settings={**ONE_AT_A_TIME, **attempts})
        command = Command("train", config, cwd=tmp_path)
        at.number, at.act = asked + 20, command.sends(signal.SIGTERM)
        assert await command.end() == 143
        assert server.calls[-1].number == at.number
        at.number = -1
        assert await Command("train", config, cwd=tmp_path).end() == 0
        assert len(server.calls) == 2 * asked + 1
    assert views(tmp_path / "run") == views(tmp_path / "whole")


async def test_a_scorer_that_hangs_holds_up_no_end(tmp_path: Path) -> None:
    """It hangs on a thread, which nobody can end; what the target said is recorded all the same."""
    (tmp_path / "scoring.py").write_text(
        "import os, signal, threading\n"
        "def score(predicted, answer):\n"
        "    if not os.path.exists('mended'):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        threading.Event().wait()\n"
        "    return predicted == answer\n",
        "utf-8",
    )
    async with SimulatedServer(SMALL) as server:
        settings = {**ONE_AT_A_TIME, "env.scorer": "scoring.py:score", "env.workers": 1}
        config = write_run(tmp_path, server=server, settings=settings)
        command = Command("eval", config, "--out", "out", cwd=tmp_path)
        assert await command.end() == 130
        assert command.err.endswith(
            "interrupted (SIGINT)\nWhat was recorded is kept: run the same command again to go on.\n"
        )
        assert "Traceback" not in command.err
        (tmp_path / "mended").touch()
        assert await Command("eval", config, "--out", "out", cwd=tmp_path).end() == 0
        assert len(server.calls) == 8, "what was recorded before the scorer hung was not paid again"


@pytest.mark.parametrize(
    ("words", "stop", "whole"),
    [(("check",), 0, 3), (("eval", "--out", "out"), 3, 8), (("noise", "--out", "out"), 11, 16)],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
async def test_every_command_that_asks_a_model_ends_in_order(
    tmp_path: Path, words: tuple[str, ...], stop: int, whole: int
) -> None:
    """`check` keeps nothing, so it asks both models anew."""
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        config = write_run(tmp_path, server=server, settings=ONE_AT_A_TIME)
        command = Command(words[0], config, *words[1:], cwd=tmp_path)
        at.number, at.act = stop, command.sends(signal.SIGTERM)
        assert await command.end() == 143
        assert command.err.splitlines()[-2:] == [
            "interrupted (SIGTERM)",
            "What was recorded is kept: run the same command again to go on.",
        ]
        assert len(server.calls) == stop + 1
        assert await Command(words[0], config, *words[1:], cwd=tmp_path).end() == 0
        assert len(server.calls) == whole


async def test_json_events_stay_json_and_whoever_pressed_ctrl_c_is_told(tmp_path: Path) -> None:
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        config = write_run(tmp_path, server=server, settings=ONE_AT_A_TIME)
        command = Command("train", config, "--json", cwd=tmp_path)
        at.number, at.act = 20, command.sends(signal.SIGINT)
        assert await command.end() == 130
    assert json.loads(command.out.splitlines()[-1])["state"] == "interrupted"
    assert command.err.startswith("interrupted (SIGINT)\n")


@pytest.mark.skipif(os.name != "posix", reason="terminals are POSIX's")
async def test_ctrl_c_on_a_terminal_reaches_the_run_and_not_the_server_of_its_model(tmp_path: Path) -> None:
    """The key is pressed on a real terminal, whose every process the signal goes to; no server outlives its run."""
    import fcntl
    import pty
    import termios

    from tests.support.engine import engine_environment

    pids = tmp_path / "pids"
    environment = engine_environment(tmp_path, at_start=f"open({str(pids)!r}, 'a').write(str(os.getpid()) + ' ')")
    (tmp_path / "model.gguf").write_bytes(b"GGUF" + bytes(64))
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        local = {"model.target.name": f"local:{tmp_path / 'model.gguf'}"}
        config = write_run(tmp_path, server=server, settings=local)
        text = read_json(config)
        del text["model"]["target"]["base_url"]
        config.write_text(json.dumps(text), "utf-8")
        ours, its = pty.openpty()
        process = subprocess.Popen(  # noqa: ASYNC220 - it begins in a moment
            [*SKILLOPT, "train", str(config)],
            cwd=tmp_path,
            env={**environment, "TERM": "xterm-256color"},
            stdin=its,
            stdout=its,
            stderr=its,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(its)

        async def press() -> None:
            os.kill(int(pids.read_text("utf-8")), 0)
            os.write(ours, b"\x03")

        at.number, at.act = 0, press
        written = await asyncio.to_thread(read_to_the_end, ours)
        code = await asyncio.to_thread(process.wait)
    assert code == 130, written
    assert "interrupted (SIGINT)" in written
    assert written.count("\x1b[?25l") <= written.count("\x1b[?25h"), "the cursor is shown again"
    assert read_json(tmp_path / "run" / "summary.json")["state"] == "interrupted"
    with pytest.raises(ProcessLookupError):
        os.kill(int(pids.read_text("utf-8")), 0)


def read_to_the_end(descriptor: int) -> str:
    written = b""
    while True:
        try:
            written += os.read(descriptor, 65536)
        except OSError:  # What Linux says of a terminal that nobody holds any more.
            os.close(descriptor)
            return written.decode("utf-8", "replace")


async def test_a_program_that_cancels_a_training_leaves_a_run_that_goes_on(tmp_path: Path) -> None:
    """No signal handler is installed where it is not a command that trains."""
    at = AtCall()
    async with SimulatedServer(SMALL, delay=at) as server:
        asked = await whole_run(tmp_path, server)
        config = write_run(tmp_path, server=server, settings=ONE_AT_A_TIME)
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        training = asyncio.create_task(train(config))

        async def cancel() -> None:
            assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
            training.cancel()
            await hang()

        at.number, at.act = asked + 20, cancel
        with pytest.raises(asyncio.CancelledError):
            await training
        at.number = -1
        await train(config)
        assert len(server.calls) == 2 * asked + 1
    assert views(tmp_path / "run") == views(tmp_path / "whole")
