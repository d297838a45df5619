"""The prompt template: a fixed text with places for the fields of a task.

`{name}` stands for the task's field of that name, and `{{name}}` for the text `{name}` itself. All other braces stand
for themselves, so JSON and formulas can be written as they are. Fields are put in once and never read again: braces in
a task's text come through untouched.
"""

from __future__ import annotations

import json
import re

from skillopt.environments.options import read_options
from skillopt.types import JsonValue, Task

_PLACE = re.compile(r"\{\{(?P<literal>\w+)\}\}|\{(?P<field>\w+)\}")


def placeholders(template: str) -> tuple[str, ...]:
    """Return the fields that a template shows, each once, in the template's order."""
    return tuple(dict.fromkeys(place["field"] for place in _PLACE.finditer(template) if place["field"]))


def render(template: str, task: Task) -> str:
    """Return the template with the task's fields put in.

    Args:
        template: The template.
        task: The task; it must have every field that the template shows.

    Raises:
        ValueError: If a field is missing, null or blank, with the names of the fields there are.
    """
    missing = [name for name in placeholders(template) if _blank(task.fields.get(name))]
    if missing:
        raise ValueError(
            f"the prompt shows {{{missing[0]}}}, which is missing or empty; "
            f"the task's fields are {', '.join(task.fields) or 'none'}"
        )

    def fill(place: re.Match[str]) -> str:
        return f"{{{place['literal']}}}" if place["literal"] else _text(place["field"], task.fields[place["field"]])

    return _PLACE.sub(fill, template)


def _blank(value: JsonValue) -> bool:
    return value is None or (isinstance(value, str) and not value.strip()) or value in ([], {})


def _text(name: str, value: JsonValue) -> str:
    """Write a field as text: options as `(A) ...` lines, other lists as lines, other values as JSON."""
    if isinstance(value, str):
        return value
    if name == "options":
        return "\n".join(option.shown for option in read_options(value))
    if isinstance(value, list):
        return "\n".join(f"- {_text('', item)}" for item in value)
    return json.dumps(value, ensure_ascii=False)
