"""A configuration as text: the resolved file of a run directory, its digest, and what differs between two.

A configuration holds no secret (they are refused when it is loaded), so neither do these.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from skillopt.config.provenance import KeyPath
from skillopt.config.schema import Config
from skillopt.config.yaml_text import write_document
from skillopt.digests import digest
from skillopt.types import JsonValue

_HEADER = "# Every setting of the run, resolved. Loading this file gives the same configuration.\n"


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that two configurations do not share; None where one of them does not have it."""

    key: str
    before: JsonValue
    after: JsonValue

    def __str__(self) -> str:
        return f"{self.key}: {self.before!r} -> {self.after!r}"


def to_yaml(config: Config) -> str:
    """Return the whole configuration, defaults and all, as YAML that loads back as the same configuration."""
    return _HEADER + write_document(_escaped(config.model_dump(mode="json")))


def config_digest(config: Config) -> str:
    """Return the digest of all settings except where the run is kept (`env.out_root`)."""
    return digest(
        config.model_copy(update={"env": config.env.model_copy(update={"out_root": None})}).model_dump(mode="json")
    )


def differences(before: Config, after: Config) -> tuple[Difference, ...]:
    """Return the settings in which two configurations differ, without `env.out_root`, in the schema's order."""
    old, new = flattened(before), flattened(after)
    keys = [key for key in {**old, **new} if key != ("env", "out_root")]
    return tuple(Difference(".".join(key), old.get(key), new.get(key)) for key in keys if old.get(key) != new.get(key))


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
