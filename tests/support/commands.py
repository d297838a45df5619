"""Calling the commands as a user does: in this process where that is the same, else in one of their own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from tests.support import forked
from tests.support.runs import write_run

SKILLOPT = (sys.executable, "-c", "from skillopt.cli.main import main; main()")
"""The console script, of the code under test."""

TINY = {"env.limit": 4, "train.num_epochs": 1}
"""Settings of a training that takes half a second."""

Said: TypeAlias = tuple[int, str, str]
"""Exit code, standard output, standard error."""

Command: TypeAlias = Callable[..., Said]


def write_tiny_run(directory: Path, **settings: Any) -> Path:
    """Write a run of one step over the simulated models, and return its configuration's path.

    Args:
        directory: Where.
        settings: Further settings; `__` stands for the dot between section and key.
    """
    given = {name.replace("__", "."): value for name, value in settings.items()}
    return write_run(directory, settings={**TINY, **given})


def at_server(url: str, **more: Any) -> dict[str, Any]:
    """Return the settings, for `write_tiny_run`, of two models behind an address that are tried once."""
    settings: dict[str, Any] = {}
    for role in ("target", "optimizer"):
        settings[f"model__{role}"] = {
            "name": f"compatible:stub-{role}",
            "base_url": url,
            "attempts": 1,
            "timeout": 20.0,
            **more,
        }
    return {f"{key}__{name}": value for key, role in settings.items() for name, value in role.items()}


def in_a_process(*words: str | Path, cwd: Path, environment: Mapping[str, str] | None = None) -> Said:
    """Run `skillopt` in a process of its own; with an environment of its own, one that is started anew."""
    if environment is None:
        process = begin(*map(str, words), cwd=cwd)
        out, err = process.communicate()
        assert process.returncode is not None
        return process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    return in_a_new_process(*words, cwd=cwd, environment=environment)


def in_a_new_process(*words: str | Path, cwd: Path, environment: Mapping[str, str] | None = None) -> Said:
    """Run `skillopt` in a process of its own, from the interpreter's start on."""
    result = subprocess.run(
        [*SKILLOPT, *map(str, words)], cwd=cwd, env={**clean_environment(), **(environment or {})}, capture_output=True
    )
    return result.returncode, result.stdout.decode("utf-8", "replace"), result.stderr.decode("utf-8", "replace")


def begin(*words: str, cwd: Path) -> subprocess.Popen[bytes] | forked.Heard:
    """Begin `skillopt` in a process of its own, whose outputs are kept."""
    if forked.POSSIBLE:
        return forked.Heard(words, cwd=cwd, environment=clean_environment())
    return subprocess.Popen(
        [*SKILLOPT, *words], cwd=cwd, env=clean_environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@contextmanager
def child(words: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[Any]]:
    """Start a process that never outlives the block, so that a test which fails in it ends."""
    with subprocess.Popen(words, **options) as process:
        try:
            yield process
        finally:
            process.kill()


def clean_environment() -> dict[str, str]:
    """Return the environment without what says how wide, how colourful or how encoded a terminal is."""
    told = re.compile(r"COLUMNS|LINES|NO_COLOR|FORCE_COLOR|TTY_.*|TERM|LANG|LC_.*|PYTHONIOENCODING|PYTHONUTF8")
    return {name: value for name, value in os.environ.items() if not told.fullmatch(name)}
