"""`scripts/train.py`: the same arguments as `skillopt train`, and the same run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.commands import Said, clean_environment, write_tiny_run

SCRIPT = Path(__file__).parents[2] / "scripts" / "train.py"


def call(*words: str | Path, cwd: Path) -> Said:
    result = subprocess.run(
        [sys.executable, SCRIPT, *words], cwd=cwd, env=clean_environment(), capture_output=True, text=True
    )
    return result.returncode, result.stdout, result.stderr


def test_the_script_trains_with_the_arguments_of_the_command(tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path / "my run")
    code, said, error = call("--config", config, "--cfg-options", "env.out_root=elsewhere", cwd=tmp_path)
    assert (code, error) == (0, "")
    assert "improved: " in said
    assert (tmp_path / "elsewhere" / "best_skill.md").is_file()


def test_a_mistake_names_the_script(tmp_path: Path) -> None:
    code, _, error = call("--confg", "a.yaml", cwd=tmp_path)
    assert code == 2
    assert error.endswith("train.py --help shows what there is.\n")
