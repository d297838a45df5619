"""`scripts/write_docs.py`: the generated parts of the pages are those of the code."""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "write_docs.py"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def test_no_page_differs_from_the_code(script: dict[str, Any]) -> None:
    """F125; where this fails, `make docs` mends it."""
    for path in script["pages"]():
        page = path.read_text("utf-8")
        assert script["rewritten"](page) == page, path.name


def test_every_part_stands_on_a_page(script: dict[str, Any]) -> None:
    text = "".join(path.read_text("utf-8") for path in script["pages"]())
    assert [name for name in script["PARTS"] if f"<!-- generated: {name} -->" not in text] == []


def test_every_setting_and_command_has_its_place(script: dict[str, Any]) -> None:
    settings, commands = script["PARTS"]["settings"](), script["PARTS"]["commands"]()
    for key in ("model.ROLE.timeout", "train.batch_size", "skill.max_tokens", "evaluation.gate_metric", "env.out_root"):
        assert f"| `{key}` |" in settings
    for name in ("init", "check", "train", "eval", "models fetch"):
        assert f"## skillopt {name}\n" in commands
    assert "nothing is left over of a page" in script["rewritten"](
        "a\n<!-- generated: providers -->\nold\n<!-- end -->\nnothing is left over of a page"
    )


def test_a_page_that_differs_is_named_and_mended(tmp_path: Path) -> None:
    for name in ("scripts", "docs"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "README.md", tmp_path)
    page = tmp_path / "docs" / "models.md"
    page.write_text(page.read_text("utf-8").replace("| `openai` |", "| `opnai` |"), "utf-8")

    def call(*words: str) -> tuple[int, str]:
        script = tmp_path / "scripts" / "write_docs.py"
        result = subprocess.run([sys.executable, script, *words], capture_output=True, text=True)
        return result.returncode, result.stdout

    assert call("--check") == (1, "docs/models.md differs: run make docs\n")
    assert call() == (0, "docs/models.md written\n")
    assert call("--check") == (0, "")
