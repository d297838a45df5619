"""A configuration as text, the resolved file of a run directory, and as one value for each full key.

A configuration holds no secret (they are refused when it is loaded), so neither do these.
"""

from __future__ import annotations

import re
from typing import Any

from skillopt.config.provenance import KeyPath
from skillopt.config.schema import Config
from skillopt.config.yaml_text import write_document
from skillopt.types import JsonValue

_HEADER = "# Every setting of the run, resolved. Loading this file gives the same configuration.\n"


def to_yaml(config: Config) -> str:
    """Return the whole configuration, defaults and all, as YAML that loads back as the same configuration."""
    return _HEADER + write_document(_escaped(config.model_dump(mode="json")))


def flattened(config: Config) -> dict[KeyPath, JsonValue]:
    """Return every setting under its full key; an empty mapping counts as a value."""
    return dict(_leaves(config.model_dump(mode="json"), ()))


def _leaves(value: JsonValue, path: KeyPath) -> list[tuple[KeyPath, JsonValue]]:
    if isinstance(value, dict) and value:
        return [leaf for key, inner in value.items() for leaf in _leaves(inner, (*path, key))]
    return [(path, value)]


def _escaped(value: Any) -> Any:
    """Write `${` and `???` so that loading gives them back as text: with backslashes, and those before `${` doubled."""
    if isinstance(value, dict):
        return {key: _escaped(inner) for key, inner in value.items()}  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, list):
        return [_escaped(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, str):
        if re.fullmatch(r"\\*\?\?\?", value):
            return "\\" + value
        return re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + "\\${", value)
    return value
