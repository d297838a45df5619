"""The process of a local model, started as `local` starts it, with a stand-in for the engine."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.support.commands import child
from tests.support.engine import engine_environment

COMMAND = [sys.executable, "-P", "-m", "skillopt.models.local_server"]


@contextmanager
def running(*arguments: str, environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with child([*COMMAND, *arguments], env=environment, **pipes) as process:
        yield process


def announcement(process: subprocess.Popen[bytes]) -> dict[str, str]:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def test_it_says_where_it_serves_in_one_line_of_json(tmp_path: Path) -> None:
    arguments = ("some file.gguf", "--slots", "3", "--context", "100", "--threads", "2")
    with running(*arguments, environment=engine_environment(tmp_path)) as process:
        said = announcement(process)
        assert said["address"].startswith("http://127.0.0.1:")
        assert said["engine"] == "xllamacpp stand-in"
        request = Request(said["address"] + "/settings", headers={"Authorization": f"Bearer {said['key']}"})
        with urlopen(request, timeout=10) as response:
            settings = json.load(response)
    assert settings["n_ctx"] == 300  # each conversation has its own 100
    assert (settings["n_parallel"], settings["threads"], settings["path"]) == (3, [2, 2], "some file.gguf")


def test_it_ends_when_its_standard_input_does(tmp_path: Path) -> None:
    with running("x.gguf", environment=engine_environment(tmp_path)) as process:
        announcement(process)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def test_ctrl_c_is_left_to_its_parent(tmp_path: Path) -> None:
    """A terminal sends it to every process; the parent still has to end in order."""
    with running("x.gguf", environment=engine_environment(tmp_path)) as process:
        announcement(process)
        process.send_signal(signal.SIGINT)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=30) == 0


def test_it_ends_on_sigterm(tmp_path: Path) -> None:
    with running("x.gguf", environment=engine_environment(tmp_path)) as process:
        announcement(process)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == -signal.SIGTERM


def test_what_the_engine_prints_does_not_mix_with_the_announcement(tmp_path: Path) -> None:
    environment = engine_environment(tmp_path, at_start="import os; os.write(1, b'chatter')")
    with running("x.gguf", environment=environment) as process:
        assert announcement(process)["address"]


@pytest.mark.parametrize(
    ("at_import", "at_start", "message"),
    [
        (
            "raise ImportError('libgomp.so.1: cannot open')",
            "",
            "the engine cannot be loaded: libgomp.so.1: cannot open",
        ),
        ("", "raise RuntimeError('Failed to init server')", "Failed to init server"),
    ],
)
def test_a_failure_is_one_line_and_no_traceback(tmp_path: Path, at_import: str, at_start: str, message: str) -> None:
    environment = engine_environment(tmp_path, at_import=at_import, at_start=at_start)
    done = subprocess.run(
        [*COMMAND, "x.gguf"], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 1
    assert done.stderr.strip() == message
    assert done.stdout == ""


def test_a_file_in_the_working_directory_stands_in_no_modules_way(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('shadowed')", "utf-8")
    (tmp_path / "engine").mkdir()
    environment = engine_environment(tmp_path / "engine", at_import="raise ImportError('reached')")
    done = subprocess.run([*COMMAND, "x.gguf"], capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert "reached" in done.stderr
