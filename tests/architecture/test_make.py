"""The Makefile: every target there is, what it would do, and that it helps."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = [
    "bench",
    "check",
    "clean",
    "docs",
    "gate-quality",
    "help",
    "lock",
    "quickstart",
    "quickstart-simulated",
    "test",
]


def make(*arguments: str) -> str:
    # Under `make check` this would be a child of that make and inherit its flags.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = ["make", "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout


def test_help_is_the_default_and_lists_every_target() -> None:
    assert make() == make("help")
    assert sorted(re.findall(r"^  make (\S+) +\S", make("help"), re.MULTILINE)) == TARGETS


@pytest.mark.parametrize(
    ("target", "command"),
    [
        ("quickstart", "skillopt train configs/quickstart.yaml"),
        ("quickstart-simulated", "skillopt train examples/simulated/config.yaml"),
        ("test", "pytest"),
        ("check", "pyright"),
        ("bench", "benchmarks"),
        ("gate-quality", "benchmarks.gate_quality --write"),
        ("docs", "scripts/write_docs.py"),
    ],
)
def test_every_target_sets_itself_up_before_it_works(target: str, command: str) -> None:
    steps = make("--dry-run", "--always-make", target)
    assert -1 < steps.index("--require-hashes") < steps.index("--editable .") < steps.index(command)


def test_a_machine_without_a_fitting_python_is_told_so(tmp_path: Path) -> None:
    """The set-up runs with no Python on the PATH at all."""
    makefile = (ROOT / "Makefile").read_text("utf-8")
    (tmp_path / "Makefile").write_text(makefile, "utf-8")
    which = subprocess.run(["sh", "-c", "command -v make"], capture_output=True, text=True, check=True).stdout.strip()
    result = subprocess.run(
        [which, ".venv/bin/python"], cwd=tmp_path, env={"PATH": str(tmp_path)}, capture_output=True, text=True
    )
    assert result.returncode == 2
    assert "needs Python 3.11 or newer" in result.stderr
    assert not (tmp_path / ".venv").exists()
