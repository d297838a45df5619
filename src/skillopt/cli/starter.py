"""What `skillopt init` writes: files that work as they are and say what to change."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from skillopt.data.task_files import read_task_file
from skillopt.errors import DataError
from skillopt.types import Task

_QUESTIONS = ("question", "prompt", "input", "query", "instruction", "problem", "text")
_ANSWERS = ("answer", "answers", "expected", "output", "target", "label", "gold", "ground_truth", "solution")

_SEED_SKILL = """\
# Skill

Read the question with care and answer it.
"""


def starter_files(directory: Path, *, data: Path | None, target: str, optimizer: str) -> Mapping[str, str]:
    """Return the text of each file by its name.

    Args:
        directory: Where they will stand; the data file is named relative to it.
        data: The user's task file, or None for a template.
        target: `provider:model` of the target.
        optimizer: `provider:model` of the optimizer.

    Raises:
        DataError: If the data file is wrong, or has no field for the question or the answer.
    """
    files = {"seed_skill.md": _SEED_SKILL}
    if data is None:
        files["tasks.jsonl"] = _template()
        path, fields, scorer = "tasks.jsonl", dict[str, str](), "exact"
    else:
        tasks = read_task_file(data).tasks
        fields = _field_mapping(tasks[0], data)
        path = os.path.relpath(data, directory)
        scorer = _scorer(tasks, fields.get("answer", "answer"))
    files["config.yaml"] = _config(path, fields=fields, scorer=scorer, target=target, optimizer=optimizer)
    return files


def _field_mapping(task: Task, data: Path) -> dict[str, str]:
    """Map `question` and `answer` to the fields that hold them, where these have other names."""
    mapping: dict[str, str] = {}
    for wanted, names in (("question", _QUESTIONS), ("answer", _ANSWERS)):
        found = next((name for name in names if name in task.fields), None)
        if found is None:
            raise DataError(
                f"{data}: no field holds the {wanted}; the fields are {', '.join(sorted(task.fields))}",
                hint=f"Name it {wanted}, or write env.fields: {{{wanted}: NAME}} into a configuration of your own.",
            )
        if found != wanted:
            mapping[wanted] = found
    return mapping


def _scorer(tasks: tuple[Task, ...], answer: str) -> str:
    """Guess the scorer from the answers: numbers, option labels, or text."""
    answers = [str(task.fields[answer]).strip() for task in tasks if task.fields.get(answer) is not None]
    if answers and all(_is_number(text) for text in answers):
        return "number"
    if answers and all(len(text.strip("()")) == 1 and text.strip("()").isalpha() for text in answers):
        return "choice"
    return "exact"


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ""))
    except ValueError:
        return False
    return True


def _template() -> str:
    rows = [
        {"id": f"task-{number:02d}", "question": f"What is {number} plus {number}?", "answer": str(2 * number)}
        for number in range(1, 31)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


def _config(path: str, *, fields: Mapping[str, str], scorer: str, target: str, optimizer: str) -> str:
    mapping = f"  fields: {json.dumps(dict(fields), ensure_ascii=False)}\n" if fields else ""
    return f"""\
# A training with SkillOpt. Paths are relative to this file. Every setting that is not here has a default:
# `skillopt check config.yaml --offline --settings` prints them all.
model:
  target: {target}
  optimizer: {optimizer}

train:
  num_epochs: 2
  batch_size: 16

env:
  name: question_answering
  data_path: {json.dumps(path, ensure_ascii=False)}
{mapping}  split_ratio: "1:1:1"
  skill_init: seed_skill.md
  scorer: {scorer}
  out_root: run
"""
