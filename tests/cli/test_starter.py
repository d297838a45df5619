"""What `skillopt init` writes; `test_init.py` has the command around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skillopt.cli.starter import starter_files
from skillopt.skill.document import Skill


def files(directory: Path, data: Path | None = None) -> dict[str, str]:
    return dict(starter_files(directory, data=data, target="ollama:qwen3", optimizer="openai:gpt-5.5"))


def test_the_template_teaches_a_rule_that_every_answer_shows(tmp_path: Path) -> None:
    rows = [json.loads(line) for line in files(tmp_path)["tasks.jsonl"].splitlines()]
    assert len(rows) == 30
    assert len({row["id"] for row in rows}) == len({row["question"] for row in rows}) == 30
    for row in rows:
        day, month, year = row["question"].removeprefix("Write this date: ").split()
        assert row["answer"].startswith(f"{year}/") and row["answer"].endswith(f"-{int(day):02}")
        assert month.isalpha()


def test_the_seed_skill_is_a_skill(tmp_path: Path) -> None:
    assert Skill.parse(files(tmp_path)["seed_skill.md"]).body.startswith("# Skill")


@pytest.mark.parametrize(("tasks", "batch"), [(3, 1), (30, 4), (144, 16), (3000, 16)])
def test_the_batch_leaves_room_for_several_steps(tmp_path: Path, tasks: int, batch: int) -> None:
    data = tmp_path / "a.jsonl"
    data.write_text("".join(json.dumps({"question": f"q{n}", "answer": f"a{n}"}) + "\n" for n in range(tasks)), "utf-8")
    assert f"  batch_size: {batch} # training tasks a step\n" in files(tmp_path, data)["config.yaml"]


def test_names_that_yaml_would_take_apart_are_quoted(tmp_path: Path) -> None:
    data = tmp_path / 'a "b": #c.jsonl'
    data.write_text('{"question": "q", "answer": "a"}\n', "utf-8")
    assert '  data_path: "a \\"b\\": #c.jsonl"\n' in files(tmp_path, data)["config.yaml"]
