"""`skillopt dashboard`: says where the live page is, or in one message why it cannot be."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
import webbrowser
from pathlib import Path

import pytest
from tests.support.commands import SKILLOPT, Command, child, clean_environment

import skillopt
from skillopt import dashboard

TOKEN = "a-token-that-nobody-guesses"


@pytest.fixture
def never_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the page end as soon as it would begin to answer."""
    from skillopt.dashboard.serving import Dashboard

    def close(dashboard: Dashboard) -> None:
        dashboard._socket.close()

    monkeypatch.setattr(Dashboard, "serve", close)


@pytest.mark.usefixtures("never_serve")
def test_the_address_is_told(command: Command, tmp_path: Path) -> None:
    code, said, err = command("dashboard", tmp_path, "--port", "0")
    assert (code, err) == (0, "")
    assert said.startswith(f"Runs in {tmp_path}: http://127.0.0.1:")
    assert said.endswith("Ctrl-C ends it.\n")


@pytest.mark.usefixtures("never_serve")
@pytest.mark.parametrize("by", ["option", "variable"])
def test_a_token_is_taken_and_never_told(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    if by == "variable":
        monkeypatch.setenv("SKILLOPT_DASHBOARD_TOKEN", TOKEN)
    words = ("--token", TOKEN) if by == "option" else ()
    code, said, err = command("dashboard", tmp_path, "--port", "0", "--host", "0.0.0.0", *words)
    assert code == 0
    assert "?token=..." in said
    assert TOKEN not in said + err


def test_the_browser_is_opened_where_that_was_asked_for_and_keeps_the_page_waiting_for_nothing(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skillopt.dashboard.serving import Dashboard

    opened: list[str] = []
    serving = threading.Event()

    def browse(url: str) -> bool:
        assert serving.wait(30), "a browser in the terminal waits for the page"
        opened.append(url)
        return False

    def serve(dashboard: Dashboard) -> None:
        serving.set()
        for thread in threading.enumerate():
            if thread.name == "browser":
                thread.join(30)
        dashboard._socket.close()

    monkeypatch.setattr(webbrowser, "open", browse)
    monkeypatch.setattr(Dashboard, "serve", serve)
    _, said, _ = command("dashboard", tmp_path, "--port", "0", "--open", "--token", TOKEN)
    assert opened[0].endswith(f"?token={TOKEN}")
    assert "No browser could be opened" in said


def test_a_port_in_use_is_one_message(command: Command, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        code, said, err = command("dashboard", tmp_path, "--port", str(other.getsockname()[1]))
    assert (code, said) == (2, "")
    assert "Address already in use\nName another port with --port" in err


def test_a_directory_that_is_not_there_is_one_message(command: Command, tmp_path: Path) -> None:
    code, _, err = command("dashboard", tmp_path / "none")
    assert code == 1
    assert err.startswith(f"error: {tmp_path / 'none'} is no directory")


def test_an_open_address_without_a_token_is_one_message(command: Command, tmp_path: Path) -> None:
    code, _, err = command("dashboard", tmp_path, "--host", "0.0.0.0")
    assert code == 2
    assert "there is no token" in err
    assert "SKILLOPT_DASHBOARD_TOKEN" in err


def test_a_missing_extra_is_one_message_with_the_line_that_installs_it(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skillopt, "dashboard", dashboard)  # Whoever imports it anew puts it there too.
    for name in [name for name in sys.modules if name.startswith("skillopt.dashboard")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    code, _, err = command("dashboard", tmp_path)
    assert code == 1
    assert 'pip install "skillopt[dashboard]"' in err


@pytest.mark.skipif(os.name != "posix", reason="signals are sent to a process")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_in_order_with_a_stream_open(tmp_path: Path, number: int) -> None:
    with child(
        [*SKILLOPT, "dashboard", str(tmp_path), "--port", "0"],
        env={**clean_environment(), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split(": ")[-1].strip()
        process.stdout.readline()
        with urllib.request.urlopen(f"{url}events", timeout=30) as stream:
            assert stream.readline() == b"event: changed\n"
            process.send_signal(number)
            stream.read()
        said, err = process.communicate(timeout=30)
    assert (process.returncode, said, err) == (0, "", "")
