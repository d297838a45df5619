"""A command in this process, and one finished training that the tests of what is shown read."""

from __future__ import annotations

import contextlib
import io
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.commands import Command, Said
from tests.support.runs import write_run

from skillopt.cli.main import run


@pytest.fixture(autouse=True)
def nobody_says_how_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take out what the machine, or whoever runs the tests, says of the terminal."""
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """Run `skillopt` in this process, in a directory of the test's own and with no terminal."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str | Path) -> Said:
        capsys.readouterr()
        code = run([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


class Finished(NamedTuple):
    """A training that has ended.

    Attributes:
        config: The configuration's path.
        directory: The run directory.
        said: What the command said.
    """

    config: Path
    directory: Path
    said: Said


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """Train once for all tests that only look; the directories' names have spaces and letters beyond ASCII."""
    config = write_run(tmp_path_factory.mktemp("työ kansio"))
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.delenv("COLUMNS", raising=False)
        code = run(["train", str(config)])
    return Finished(config, config.parent / "run", (code, out.getvalue(), err.getvalue()))
