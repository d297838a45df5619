"""What the tests' own way to a process of its own shows is what a process that was started shows."""

from __future__ import annotations

import asyncio
import signal
from pathlib import Path

import pytest
from tests.support.commands import begin, in_a_new_process, in_a_process, write_tiny_run
from tests.support.runs import SMALL, views, write_run

from skillopt.simulation.server import SimulatedServer
from skillopt.simulation.weather import Call


@pytest.mark.parametrize(
    "words",
    [
        ("--version",),
        ("train", "config.yaml", "--dry-run"),
        ("check", "config.yaml", "--offline"),
        ("train", "nothing.yaml"),
        ("--nonsense",),
    ],
    ids=" ".join,
)
def test_a_forked_command_says_what_a_started_one_says(tmp_path: Path, words: tuple[str, ...]) -> None:
    write_tiny_run(tmp_path)
    assert in_a_process(*words, cwd=tmp_path) == in_a_new_process(*words, cwd=tmp_path)


def test_a_forked_training_leaves_what_a_started_one_leaves(tmp_path: Path) -> None:
    write_tiny_run(tmp_path)
    ways = (in_a_process, in_a_new_process)
    codes = [way("train", "config.yaml", f"env.out_root={way.__name__}", cwd=tmp_path)[0] for way in ways]
    assert codes[0] == codes[1]
    assert views(tmp_path / "in_a_process") == views(tmp_path / "in_a_new_process")


async def test_a_signal_that_ends_it_is_its_code(tmp_path: Path) -> None:
    async def kill(_: Call) -> None:
        command.send_signal(signal.SIGKILL)

    async with SimulatedServer(SMALL, delay=kill) as server:
        command = begin("train", str(write_run(tmp_path, server=server)), cwd=tmp_path)
        await asyncio.to_thread(command.communicate)
    command.send_signal(signal.SIGKILL)
    assert command.returncode == -signal.SIGKILL


def test_its_environment_is_that_of_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert in_a_process("--version", cwd=tmp_path)[0] == 0, "the process that forks is there before"
    scorer = "import os\nopen('seen', 'w').write(os.environ['MARK'])\ndef score(*_): return 1.0\n"
    (tmp_path / "scorer.py").write_text(scorer, "utf-8")
    monkeypatch.setenv("MARK", "planted")
    in_a_process("check", write_tiny_run(tmp_path, env__scorer="scorer.py:score"), "--offline", cwd=tmp_path)
    assert (tmp_path / "seen").read_text("utf-8") == "planted"
