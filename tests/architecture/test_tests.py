"""How tests are written: none waits by the clock and none reads it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
CLOCK = {
    f"time.{name}{suffix}" for name in ("monotonic", "perf_counter", "process_time", "time") for suffix in ("", "_ns")
} | {"time.sleep", "datetime.now", "datetime.today", "datetime.utcnow", "date.today"}


def clock_uses(code: str) -> list[str]:
    found: list[str] = []
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=attribute):
                found += [f"line {node.lineno}: {owner}.{attribute}"] if f"{owner}.{attribute}" in CLOCK else []
            case ast.ImportFrom(module="time", names=names):
                found += [f"line {node.lineno}: time.{alias.name}" for alias in names if f"time.{alias.name}" in CLOCK]
            case _:
                pass
    return found


@pytest.mark.parametrize(
    "code", ["import time\ntime.sleep(1)", "from time import sleep", "import datetime\ndatetime.datetime.now()"]
)
def test_a_use_of_the_clock_is_seen(code: str) -> None:
    assert clock_uses(code)


def test_no_test_waits_by_the_clock_or_reads_it() -> None:
    """A test that does is slow on a fast machine and red on a slow one; wait for the event itself."""
    uses = {path.relative_to(TESTS).as_posix(): clock_uses(path.read_text("utf-8")) for path in TESTS.rglob("*.py")}
    assert {test: found for test, found in uses.items() if found} == {}
