"""What `skillopt init` writes: files that work as they are and say what to change."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.data.task_files import read_task_file
from skillopt.environments.scorers.base import Scorer
from skillopt.environments.scorers.settings import ScorerSettings, build_scorer
from skillopt.errors import DataError
from skillopt.types import JsonValue, Task

_NAMES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "input", "query", "instruction", "problem", "text", "q"),
    "answer": (
        "answer", "answers", "expected", "expected_answer", "output", "target", "label", "gold", "ground_truth",
        "solution", "a",
    ),
    "options": ("options", "choices"),
}  # fmt: skip
"""What task files call the fields that question answering needs, likeliest first."""

_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October")

_SEED_SKILL = """\
# Skill

Read the question with care and answer it.
"""


@dataclass(frozen=True, slots=True)
class _Data:
    """What is known of a task file.

    Attributes:
        path: As the configuration names it.
        tasks: How many it holds.
        fields: Field mapping, where its fields have other names.
        scorer: How its answers are compared.
        prompt: What the target is asked, where it is more than the question.
        normalise: For scorer exact, what two answers may differ in; "" leaves the default.
    """

    path: str
    tasks: int
    fields: Mapping[str, str]
    scorer: str = "exact"
    prompt: str = ""
    normalise: str = ""


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
        rows = list(_template())
        files["tasks.jsonl"] = "".join(json.dumps(row) + "\n" for row in rows)
        known = _Data("tasks.jsonl", len(rows), {}, normalise="spaces")
    else:
        known = _look_at(data, named=os.path.relpath(data, directory))
    files["config.yaml"] = _config(known, target=target, optimizer=optimizer)
    return files


def _template() -> Iterator[dict[str, str]]:
    """Yield tasks that teach: a house form of dates that no model knows, and that every answer shows."""
    for number in range(1, 31):
        day, month, year = (7 * number) % 28 + 1, _MONTHS[number % 10], 1990 + number
        answer = f"{year}/{number % 10 + 1:02}-{day:02}"
        yield {"id": f"task-{number:02}", "question": f"Write this date: {day} {month} {year}", "answer": answer}


def _look_at(data: Path, *, named: str) -> _Data:
    first = read_task_file(data).tasks[0]
    fields = _field_mapping(first, data)
    tasks = read_task_file(data, fields=fields).tasks
    settings = _scorer(tasks)
    shows_options = settings.scorer == "choice" and isinstance(tasks[0].fields.get("options"), list)
    return _Data(
        named,
        len(tasks),
        fields,
        settings.scorer,
        prompt="{question}\n\n{options}" if shows_options else "",
        normalise="" if settings == ScorerSettings(scorer=settings.scorer) else settings.normalise,
    )


def _field_mapping(task: Task, data: Path) -> dict[str, str]:
    """Map what the environment expects to the fields that hold it, where these have other names."""
    mapping: dict[str, str] = {}
    by_name = {name.casefold(): name for name in reversed(list(task.fields))}
    for wanted, names in _NAMES.items():
        found = next((by_name[name] for name in names if name in by_name), None)
        if found is None and wanted != "options":
            raise DataError(
                f"{data}: no field holds the {wanted}; the fields are {', '.join(task.fields)}",
                hint=f"Rename it to {wanted}, or run init without --data and write env.data_path and "
                f"env.fields: {{{wanted}: NAME}} into config.yaml.",
            )
        if found is not None and found != wanted:
            mapping[wanted] = found
    return mapping


def _scorer(tasks: Sequence[Task]) -> ScorerSettings:
    """Return the scorer for these answers: the first that is meant for answers like them and can read all of them.

    Raises:
        DataError: If no scorer can, with the task's place.
    """
    strictest = ScorerSettings(normalise="spaces")
    for settings in _likely(tasks):
        try:
            _check_all(build_scorer(settings), tasks)
        except DataError:
            continue
        return settings
    _check_all(build_scorer(strictest), tasks)
    return strictest


def _likely(tasks: Sequence[Task]) -> list[ScorerSettings]:
    """Return the scorers that are meant for answers like these; exact comparison last, since it is for all."""
    answers = [answer for task in tasks for answer in _accepted(task.fields["answer"])]
    likely = {
        "json": all(isinstance(answer, dict) for answer in answers),
        "number": all(_is_number(answer) for answer in answers),
        "choice": all(_is_label(answer) for answer in answers) or "options" in tasks[0].fields,
    }
    return [ScorerSettings(scorer=name) for name, fits in {**likely, "exact": True}.items() if fits]


def _check_all(scorer: Scorer, tasks: Sequence[Task]) -> None:
    for task in tasks:
        scorer.check(task)


def _accepted(answer: JsonValue) -> list[JsonValue]:
    return answer if isinstance(answer, list) else [answer]


def _is_number(answer: JsonValue) -> bool:
    try:
        return not isinstance(answer, bool) and math.isfinite(float(str(answer).replace(",", "")))
    except ValueError:
        return False


def _is_label(answer: JsonValue) -> bool:
    letter = str(answer).strip().strip("()")
    return len(letter) == 1 and letter.isascii() and letter.isalpha()


def _config(data: _Data, *, target: str, optimizer: str) -> str:
    third = max(1, data.tasks // 3)
    lines = [f"  data_path: {_quoted(data.path)}"]
    lines += [f"  fields: {_quoted(dict(data.fields))}"] if data.fields else []
    lines += [f"  prompt: {_quoted(data.prompt)}"] if data.prompt else []
    lines += ['  split_ratio: "1:1:1"', "  skill_init: seed_skill.md", f"  scorer: {data.scorer}"]
    lines += [f"  normalise: {data.normalise}"] if data.normalise else []
    if data.scorer == "exact" and not data.normalise:
        lines.append("  # Case, punctuation and articles do not count. Where they do: normalise: spaces")
    own = "\n".join(lines)
    return f"""\
# A training with SkillOpt. Paths are relative to this file. Every setting that is not here has a default:
# `skillopt check config.yaml --offline --settings` prints them all.
model:
  target: {_quoted(target)}
  optimizer: {_quoted(optimizer)}

train:
  num_epochs: 2
  batch_size: {min(16, math.ceil(third / 3))} # training tasks a step

# The tasks: a third each for training, for the gate's decisions, and for the proof at the end.
env:
  name: question_answering
{own}
  out_root: run
"""


def _quoted(value: object) -> str:
    """Return a value as JSON, which is YAML too."""
    return json.dumps(value, ensure_ascii=False)
