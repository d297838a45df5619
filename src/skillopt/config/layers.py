"""Reads what the user wrote: a file, the files it is built on, and the overrides of the command line.

Each becomes a layer in one normal form. Laying them over one another is `provenance.stacked`; whether the values are
right is not decided here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from skillopt.config.describe import settings
from skillopt.config.model_settings import ModelSettings
from skillopt.config.paths import expanded
from skillopt.config.provenance import COMMAND_LINE, KeyPath, Layer, Origin
from skillopt.config.public_keys import advice
from skillopt.config.schema import Config
from skillopt.config.secrets import HIDDEN, dotted, found_secrets, looks_secret
from skillopt.config.validation import nearest, nearest_key
from skillopt.config.yaml_text import DEEPEST, read_document, read_value
from skillopt.errors import ConfigError, UsageError
from skillopt.types import JsonValue
from skillopt.user_files import UnusableFile, read_user_text

_BASE = "_base_"
_DEEPEST = 16
"""Most files that may be built on one another."""

_LARGEST = 1_000_000
"""Most bytes of a configuration file; a larger one is some other file."""

_ROLES = tuple(ModelSettings.model_fields)


def file_layers(path: Path) -> list[Layer]:
    """Return the layers of a file, those it is built on by `_base_` first.

    Raises:
        ConfigError: If a file cannot be read, is not a YAML mapping, or is built on itself, on a file that does not
            exist, or on too many others.
    """
    layers: list[Layer] = []
    chain: list[Path] = []
    named_by = Origin("default")
    while True:
        text = _text(path, named_by=named_by)
        if path.resolve() in chain:
            raise ConfigError(f"{named_by}: {_BASE} names {path}, which is built on this file")
        if len(chain) == _DEEPEST:
            raise ConfigError(f"{named_by}: more than {_DEEPEST} files are built on one another by {_BASE}")
        chain.append(path.resolve())
        document = read_document(text, path)
        values = dict(document.values)
        base = values.pop(_BASE, None)
        origins = {key: Origin("file", path, line) for key, line in document.lines.items()}
        layer = _normal(values, {key: origin for key, origin in origins.items() if key[0] != _BASE})
        layers.append(replace(layer, file=path))
        if (_BASE,) not in origins:
            return layers[::-1]
        named_by = origins[_BASE,]
        if not isinstance(base, str) or not base:
            raise ConfigError(f"{named_by}: {_BASE} must be the path of one file, relative to this one")
        path = path.parent / expanded(Path(base))


def override_layer(override: str) -> Layer:
    """Return the layer of one `section.key=value` given on the command line.

    A key without its section is accepted where only one section has it.

    Raises:
        UsageError: If it has no such form, or the key without its section is unknown or stands in several.
    """
    key, equals, text = override.partition("=")
    if not equals or not re.fullmatch(r"[^\W\d][\w\-]*(\.[^\s.=]+)*", key):
        start = re.match(r"[\w.\-]*", override)
        told = start[0] if start and not any(found_secrets(start[0])) else HIDDEN
        raise UsageError(
            f"the setting that begins with {told!r} has not the form section.key=value",
            hint="Write it without spaces around the equals sign, such as train.batch_size=20.",
        )
    if looks_secret(key) or any(map(looks_secret, key.split("."))):
        raise UsageError(
            f"the setting {dotted(tuple(key.split('.')))} is refused and not shown: a key or token stands there",
            hint="Keys and tokens are read from the environment only; name the variable in api_key_env.",
        )
    try:
        value = read_value(text)
    except UsageError as error:
        raise UsageError(f"{key}: {error.message}", hint=error.hint) from None
    path = tuple(key.split(".")) if "." in key else _full_path(key)
    if len(path) > DEEPEST:
        raise UsageError(f"a setting has at most {DEEPEST} keys in a row, not {len(path)}")
    origins = {path[:length]: COMMAND_LINE for length in range(1, len(path) + 1)}
    if isinstance(value, dict):
        origins.update(dict.fromkeys(_paths(value, path), COMMAND_LINE))
    values: JsonValue = value
    for part in reversed(path):
        values = {part: values}
    assert isinstance(values, dict)
    return _normal(values, origins)


def _full_path(key: str) -> KeyPath:
    known = [path for path, _ in settings(Config)]
    if key in Config.model_fields and (key,) not in known:
        raise UsageError(f"{key} is a section", hint=f"Write {key}.KEY=VALUE.")
    if key in _ROLES:
        return ("model", key)
    found = [path for path in known if path[-1] == key]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{key} stands in several sections", hint="Write " + " or ".join(".".join(path) for path in found)
        )
    told = advice((key,))
    likely = nearest_key((key,), known) or nearest(key, [path[-1] for path in known])
    hint = f"Did you mean {likely}?" if likely else "A key of the environment is written env.KEY=VALUE."
    raise UsageError(f"unknown setting {key}", hint=told or hint)


def _normal(values: Mapping[str, JsonValue], origins: Mapping[KeyPath, Origin]) -> Layer:
    """Give a layer its one form: a section or model without content is an empty mapping, a model's name a mapping."""
    normal = dict(values)
    for section in Config.model_fields:
        if section in normal and normal[section] is None:
            normal[section] = {}
    replaced: set[KeyPath] = set()
    known = dict(origins)
    models = normal.get("model")
    if isinstance(models, dict):
        models = dict(models)
        for role in _ROLES:
            path = ("model", role)
            if isinstance(models.get(role), str):
                models[role] = {"name": models[role]}
                known[*path, "name"] = known[path]
                replaced.add(path)
            elif role in models and models[role] is None:
                models[role] = {}
        normal["model"] = models
    return Layer(normal, known, frozenset(replaced))


def _paths(values: Mapping[str, JsonValue], path: KeyPath) -> list[KeyPath]:
    found: list[KeyPath] = []
    for key, value in values.items():
        found.append((*path, key))
        if isinstance(value, dict):
            found += _paths(value, (*path, key))
    return found


def _text(path: Path, *, named_by: Origin) -> str:
    where = "" if named_by.kind == "default" else f"{named_by}: {_BASE} names "
    try:
        return read_user_text(path, most_bytes=_LARGEST).removeprefix("\ufeff")
    except UnusableFile as problem:
        raise ConfigError(
            f"{where}{path}, which {problem.reason}" if where else f"{path} {problem.reason}", hint=problem.hint
        ) from None
