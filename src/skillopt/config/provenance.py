"""Whence each setting came: the schema's default, the preset, a line of a file, or the command line.

It only remembers; reading files is `layers.py`, and telling a person is `validation.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias

from skillopt.types import JsonValue

KeyPath: TypeAlias = tuple[str, ...]
"""A key with the sections it stands in, such as `("model", "target", "name")`."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was set.

    Attributes:
        kind: default, preset, file or command line.
        file: The file, absolute; None unless it came from one.
        line: From 1; 0 unless it came from a file.
        preset: Its name; "" unless it came from one.
    """

    kind: Literal["default", "preset", "file", "command line"]
    file: Path | None = None
    line: int = 0
    preset: str = ""

    def __str__(self) -> str:
        if self.kind == "preset":
            return f"preset {self.preset}"
        return self.kind if self.file is None else f"{self.file}, line {self.line}"


DEFAULT = Origin("default")
COMMAND_LINE = Origin("command line")


@dataclass(frozen=True)
class Layer:
    """The settings that one file or one override gives.

    Attributes:
        values: Sections, keys and values, nested.
        origins: For every key and section in `values`, where it stands.
        replaced: Sections that start anew from their defaults before the layer's values go in.
        file: The file; None unless it came from one.
    """

    values: dict[str, JsonValue]
    origins: Mapping[KeyPath, Origin] = field(default_factory=dict[KeyPath, Origin])
    replaced: frozenset[KeyPath] = frozenset()
    file: Path | None = None


@dataclass(frozen=True)
class Provenance:
    """The origin of every key that was set by the preset, a file or the command line; all others are defaults."""

    origins: Mapping[KeyPath, Origin]

    def __post_init__(self) -> None:
        object.__setattr__(self, "origins", MappingProxyType(dict(self.origins)))

    def __getitem__(self, key: str) -> Origin:
        return self.of(tuple(key.split(".")))

    def of(self, path: KeyPath) -> Origin:
        """Return the origin of a key; for an element of a list, that of the list."""
        return self.origins.get(path, DEFAULT)

    def nearest(self, path: KeyPath) -> Origin:
        """Return the origin of a key or, where it was never set, of the innermost section around it that was."""
        while path:
            if path in self.origins:
                return self.origins[path]
            path = path[:-1]
        return DEFAULT


def stacked(layers: Iterable[Layer], defaults: dict[str, JsonValue]) -> tuple[dict[str, JsonValue], Provenance]:
    """Lay layers over the defaults, the last one on top, and remember where each value that shows came from.

    Mappings merge key by key; every other value, lists among them, replaces what is below it.
    """
    values: JsonValue = defaults
    origins: dict[KeyPath, Origin] = {}
    for layer in layers:
        for section in layer.replaced:
            values = _replaced(values, section, _at(defaults, section))
            origins = {path: origin for path, origin in origins.items() if path[: len(section)] != section}
        values = _merged(values, layer.values)
        for path, origin in layer.origins.items():
            if not isinstance(_at(layer.values, path), dict):
                origins = {old: known for old, known in origins.items() if old[: len(path)] != path}
            origins[path] = origin
    assert isinstance(values, dict)
    return values, Provenance(origins)


def _merged(below: JsonValue, above: JsonValue) -> JsonValue:
    if not (isinstance(below, dict) and isinstance(above, dict)):
        return above
    return {**below, **{key: _merged(below.get(key), value) for key, value in above.items()}}


def _replaced(values: JsonValue, path: KeyPath, value: JsonValue) -> JsonValue:
    if not path:
        return value
    inner = values if isinstance(values, dict) else {}
    return {**inner, path[0]: _replaced(inner.get(path[0]), path[1:], value)}


def _at(values: JsonValue, path: KeyPath) -> JsonValue:
    for key in path:
        values = values.get(key) if isinstance(values, dict) else None
    return values
