"""The shipped tasks are what their generator writes, and the quick start's configuration reads them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from skillopt.config.load import load_config
from skillopt.run.setup import prepare
from skillopt.types import Message, Score, Task, Trajectory

ROOT = Path(__file__).parents[2]
HOUSE = ROOT / "examples" / "house_rules"
FILES = ("tasks.jsonl", *(f"quickstart/{split}/tasks.jsonl" for split in ("train", "val", "test")))


def test_the_generator_writes_the_shipped_bytes(tmp_path: Path) -> None:
    script = tmp_path / "generate.py"
    script.write_bytes((HOUSE / "generate.py").read_bytes())
    subprocess.run([sys.executable, str(script)], check=True)
    for name in FILES:
        assert (tmp_path / name).read_bytes() == (HOUSE / name).read_bytes(), name


def test_no_question_is_asked_twice_in_the_quick_start() -> None:
    """A held-out task that stood in the training split would prove nothing."""
    questions = [json.loads(line)["question"] for name in FILES[1:] for line in (HOUSE / name).read_text().splitlines()]
    assert len(questions) == len(set(questions)) == 80


def test_the_quick_start_counts_every_character_of_the_house_form() -> None:
    setup = prepare(load_config(ROOT / "configs" / "quickstart.yaml"))
    counts = tuple(len(split) for split in (setup.splits.train, setup.splits.val, setup.splits.test))
    assert counts == (24, 16, 32)
    task = next(task for task in setup.splits.val if task.category == "date")
    answer = str(task.fields["answer"])

    def score(task: Task, reply: str) -> Score:
        return setup.environment.score(task, Trajectory((Message("assistant", reply),), reply))

    assert score(task, f"{answer}\n").hard == 1
    for reply in (answer.replace(".", "-"), f"The date is {answer}.", ""):
        assert score(task, reply).hard == 0
