"""docs/notebooks.md: its code runs as it stands, and its tables are those of the code.

F125: what a page shows is run. It runs in a process of its own, since pyplot is global.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.docs.pages import PAGES, ROOT
from tests.support.commands import clean_environment

from skillopt.report.history_columns import ALWAYS, column_type, synonyms

PAGE = PAGES["docs/notebooks.md"]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.M | re.S)

CELLS = """
import ast, asyncio, inspect, json, sys
names = {}
async def run(cells):
    for cell in cells:
        found = eval(compile(cell, "a cell", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
        if inspect.iscoroutine(found):
            await found
asyncio.run(run(json.loads(sys.stdin.read())))
assert names["frame"].shape[0] == len(names["rows"]) == 6
assert names["rows"]["edit_budget"].tolist()[1:] == names["budget"].tolist()[1:]
"""
"""Runs blocks as a notebook runs its cells."""


def test_the_code_of_the_page_runs_block_after_block(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "examples" / "simulated", tmp_path / "examples" / "simulated")
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", CELLS],
        input=json.dumps(BLOCKS),
        cwd=tmp_path,
        env={**clean_environment(), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert "edit_budget" in result.stdout
    for name in ("scores.svg", "slide.png", "by_hand.png"):
        assert (tmp_path / name).stat().st_size > 5000


def test_the_names_that_mean_the_same_are_those_of_the_code() -> None:
    rows = re.findall(r"^\| `([\w.]+)` \| (`.*`) \|$", PAGE.partition("also found as")[2], re.M)
    told = {name: set(re.findall(r"`([\w.]+)`", others)) for name, others in rows}
    assert told == {name: set(synonyms(name)) for name in told}
    assert {other for name in ALWAYS for other in synonyms(name)} <= {
        *told,
        *(other for names in told.values() for other in names),
    }


@pytest.mark.parametrize("kind", ["int64", "float64", "str", "object"])
def test_the_types_of_the_page_are_those_of_the_code(kind: str) -> None:
    (told,) = re.findall(rf"^\| `{kind}` \| (.*) \|$", PAGE, re.M)
    named = re.findall(r"`([\w.]+)`", told)
    assert named and {column_type(name) for name in named} == {kind}
