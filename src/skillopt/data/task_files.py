"""From a task file to tasks: field mapping, ids, categories, and what makes a row no task.

It reads one file. Which file is which split, and whether splits go together, is `splits.py`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.data.rows import Row, open_task_file, read_rows
from skillopt.digests import canonical_json, text_digest
from skillopt.errors import DataError
from skillopt.types import JsonValue, Task

_ID = "id"
_CATEGORIES = ("category", "task_type")
_ID_DIGITS = 12
"""Hexadecimal digits of an id made from a task's content."""

_MOST_NAMED = 5
"""Most ids that one message names."""


@dataclass(frozen=True, slots=True)
class TaskFile:
    """A task file that was read.

    Attributes:
        path: The file, as it was named.
        digest: SHA-256 of its bytes.
        tasks: Its tasks, in its order; at least one.
    """

    path: Path
    digest: str
    tasks: tuple[Task, ...]


def read_task_file(path: Path, *, fields: Mapping[str, str] | None = None) -> TaskFile:
    """Read a task file.

    A field that the mapping renames is found under its new name only; all others keep theirs. The id is the field `id`
    (text or a whole number). Where no row has one, ids are made from the content, so they do not depend on the order.

    Args:
        path: JSON, JSONL, CSV or TSV.
        fields: Field mapping: name the environment expects -> name in the file; `a.b` is the field b of the object a.

    Raises:
        DataError: With file, line and ids, if the file or a row is wrong, an id stands twice, or there is no task.
    """
    mapping = dict(fields or {})
    tasks = [_task(row, path, mapping) for row in read_rows(path)]
    if not tasks:
        raise DataError(f"{path} holds no tasks")
    with_id = [task for task in tasks if task.id]
    if with_id and len(with_id) < len(tasks):
        without = next(task for task in tasks if not task.id)
        raise DataError(
            f"{without.location}: no {_source(mapping)}, though other tasks have one", hint="Give it an id."
        )
    if not with_id:
        tasks = [Task(content_digest(task)[:_ID_DIGITS], task.fields, task.category, task.location) for task in tasks]
    refuse_duplicate_ids(tasks, made_from_content=not with_id)
    with open_task_file(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return TaskFile(path, digest, tuple(tasks))


def content_digest(task: Task) -> str:
    """Return the digest of what a task holds besides its id; equal ones are the same task under two names."""
    return text_digest(canonical_json(dict(task.fields)))


def refuse_duplicate_ids(tasks: Sequence[Task], *, made_from_content: bool = False) -> None:
    """Raise `DataError` that names the ids, and their lines, that stand more than once."""
    places: dict[str, list[str]] = {}
    for task in tasks:
        places.setdefault(task.id, []).append(task.location)
    repeated = {name: at for name, at in places.items() if len(at) > 1}
    if not repeated:
        return
    named = "".join(f"\n  {name!r}: {'; '.join(at[:_MOST_NAMED])}" for name, at in list(repeated.items())[:_MOST_NAMED])
    more = f"\n  and {len(repeated) - _MOST_NAMED} more" if len(repeated) > _MOST_NAMED else ""
    what = "tasks that are equal in every field" if made_from_content else "ids that stand more than once"
    hint = "Remove all but one, or give them ids." if made_from_content else "Every id must be unique over all splits."
    raise DataError(f"{len(repeated)} {what}:{named}{more}", hint=hint)


def _task(row: Row, path: Path, mapping: Mapping[str, str]) -> Task:
    location = f"{path}, line {row.line}"
    renamed = {name: _found(row, location, name, source) for name, source in mapping.items()}
    taken = {source for source in mapping.values() if source in row.values}
    values = {name: value for name, value in row.values.items() if name not in taken} | renamed
    name = _id_text(values.pop(_ID, row.key or None), location)
    if not values:
        raise DataError(f"{location}: the task has no fields besides its id")
    try:
        canonical_json([name, values]).encode("utf-8")
    except UnicodeEncodeError:
        raise DataError(f"{location}: half of a surrogate pair, which is no character") from None
    except ValueError:
        raise DataError(f"{location}: a number is too large") from None
    category = next((text for key in _CATEGORIES if (text := _category(values.get(key)))), "")
    return Task(name, values, category, location)


def _found(row: Row, location: str, name: str, source: str) -> JsonValue:
    """Look a mapped field up: by its whole name, else step by step into nested objects."""
    if source in row.values:
        return row.values[source]
    value: JsonValue = row.values
    for step in source.split("."):
        if not isinstance(value, dict) or step not in value:
            raise DataError(
                f"{location}: no field {source!r}, which env.fields names for {name!r}",
                hint="The task has the fields " + ", ".join(row.values) + ".",
            )
        value = value[step]
    return value


def _id_text(value: JsonValue, location: str) -> str:
    """Return an id as text; "" where there is none."""
    if value is None:
        return ""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, str) and value.strip():
        return value
    raise DataError(f"{location}: the id is {value!r}; it must be text or a whole number")


def _category(value: JsonValue) -> str:
    return "" if value is None or isinstance(value, dict | list | bool) else str(value)


def _source(mapping: Mapping[str, str]) -> str:
    return f"field {mapping[_ID]!r}" if _ID in mapping else "id"
