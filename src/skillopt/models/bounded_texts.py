"""Bounds on the texts of a reply schema, for engines that hold a model to a grammar.

A small model that is held to a schema and begins to repeat itself inside a text cannot leave it: the text would go on
to the token limit, and the whole reply would be lost. Hosted providers refuse such bounds in their strict modes, so
only the local models get them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from skillopt.types import JsonValue

MOST_CHARACTERS = 1000
"""Of any text of a reply; a grammar of this engine may repeat a character at most 2,000 times."""

_MOST_BY_FIELD = {"reasoning": 400, "slow_update_content": 2000, "meta_skill_content": 1600}
"""Texts that need less, since a small model's reasoning does not become better by going on, or more: guidance and
memory are as long as their prompts allow."""
_WHOLE_DOCUMENTS = frozenset({"new_skill"})
"""Texts that a bound would cut in the middle without a word; where one never ends, the token limit says so."""


def with_bounded_texts(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a JSON schema in which every free text has an end.

    Texts that the schema bounds itself, or takes from a list, stay as they are.
    """
    return cast("dict[str, JsonValue]", _bounded(dict(schema), field=""))


def _bounded(part: JsonValue, *, field: str) -> JsonValue:
    if isinstance(part, list):
        return [_bounded(item, field=field) for item in part]
    if not isinstance(part, dict):
        return part
    properties = part.get("properties")
    inner = {name: value if name == "properties" else _bounded(value, field=field) for name, value in part.items()}
    if isinstance(properties, dict):
        inner["properties"] = {name: _bounded(value, field=name) for name, value in properties.items()}
    if (
        part.get("type") == "string"
        and field not in _WHOLE_DOCUMENTS
        and not {"enum", "const", "maxLength", "pattern"} & part.keys()
    ):
        inner["maxLength"] = _MOST_BY_FIELD.get(field, MOST_CHARACTERS)
    return inner
