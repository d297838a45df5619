"""Loads a configuration: files and overrides in, a checked `Config` that knows whence each value came out.

The last one wins: the schema's defaults, the files named by `_base_`, the file, the overrides from left to right.
Mappings merge key by key and lists are replaced. A model given as a plain string replaces the whole role, so that the
address or price of another provider never stays behind; a model given as a mapping merges. A value may refer to another
one as `${section.key}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from skillopt.config import dump, table
from skillopt.config.describe import nested_section
from skillopt.config.layers import file_layers, override_layer
from skillopt.config.paths import with_absolute_paths
from skillopt.config.provenance import KeyPath, Provenance, stacked
from skillopt.config.schema import Config
from skillopt.config.validation import (
    Problem,
    SettingsT,
    as_error,
    refuse_secrets,
    validate_section,
    validated_config,
)
from skillopt.errors import ConfigError
from skillopt.types import JsonValue


@dataclass(frozen=True)
class LoadedConfig:
    """A configuration with its history.

    Attributes:
        config: The checked settings; its paths are absolute.
        provenance: Where each value came from, by its dotted key.
        path: The file that was loaded, absolute.
    """

    config: Config
    provenance: Provenance
    path: Path

    @property
    def digest(self) -> str:
        """Digest of all settings except where the run is kept."""
        return dump.config_digest(self.config)

    def to_yaml(self) -> str:
        """Return every setting, resolved, as YAML that loads back as the same configuration; it holds no secret."""
        return dump.to_yaml(self.config)

    def validate_section(self, settings_class: type[SettingsT], values: Mapping[str, Any]) -> SettingsT:
        """Return the environment's own settings, checked; `values` are the keys of `env` that the schema does not have.

        Raises:
            ConfigError: With key, value, file and line.
        """
        return validate_section(settings_class, values, provenance=self.provenance)

    def resolved_table(self, environment: BaseModel | None = None) -> tuple[table.ResolvedSetting, ...]:
        """Return every setting with its value and origin; with an environment's settings, those too."""
        return table.resolved_table(self.config, self.provenance, environment=environment)


def load_config(
    path: str | Path, overrides: Sequence[str] = (), *, working_directory: str | Path | None = None
) -> LoadedConfig:
    """Load a configuration file and lay overrides over it.

    Args:
        path: The YAML file; relative to the working directory.
        overrides: Texts of the form `section.key=value`; a later one wins.
        working_directory: What `path` and paths in overrides are relative to; by default the process's.

    Raises:
        ConfigError: If a file, key or value is wrong; the message says which, where it stands and what is allowed.
        UsageError: If an override has not the form `section.key=value`.
    """
    directory = Path(working_directory or Path.cwd()).absolute()
    file = directory / Path(path).expanduser()
    layers = [*file_layers(file), *(override_layer(override) for override in overrides)]
    for layer in layers:
        refuse_secrets(layer.values, Provenance(layer.origins))
    values, provenance = stacked(layers, _defaults(Config))
    values = _with_references_resolved(values, provenance)
    values = with_absolute_paths(values, provenance, working_directory=directory)
    return LoadedConfig(validated_config(values, provenance), provenance, file)


def _defaults(section: type[BaseModel]) -> dict[str, JsonValue]:
    """Return the schema's defaults; keys that must be set are left out."""
    values: dict[str, JsonValue] = {}
    for name, field in section.model_fields.items():
        inner = nested_section(field)
        default = None if field.is_required() else field.get_default(call_default_factory=True)
        if inner is not None and (field.is_required() or default is not None):
            values[name] = _defaults(inner)
        elif not field.is_required():
            values[name] = default
    return values


def _with_references_resolved(values: dict[str, JsonValue], provenance: Provenance) -> dict[str, JsonValue]:
    if not _has_reference(values):
        return values
    problems = [
        Problem(f"{'.'.join(path)}: {reason}", provenance.nearest(path)) for path, reason in _bad_references(values, ())
    ]
    if problems:
        raise as_error(problems)
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        return cast("dict[str, JsonValue]", OmegaConf.to_container(OmegaConf.create(values), resolve=True))
    except OmegaConfBaseException as error:
        key = (error.full_key or "").partition("[")[0]
        path = tuple(key.split("."))
        origin = provenance.nearest(path)
        raise ConfigError(
            f"{origin}: {key} refers to something that cannot be resolved: {error.msg}",
            hint="A reference has the form ${section.key}; write \\${ for the characters themselves.",
        ) from None


def _has_reference(value: JsonValue) -> bool:
    # Most configurations have none, and OmegaConf takes longer to load than all the rest.
    if isinstance(value, dict):
        return any(_has_reference(inner) for inner in value.values())
    if isinstance(value, list):
        return any(_has_reference(inner) for inner in value)
    return isinstance(value, str) and ("${" in value or value.endswith("???"))


def _bad_references(value: JsonValue, path: KeyPath) -> list[tuple[KeyPath, str]]:
    """Find values that are still to be filled in and references to anything but other settings."""
    if isinstance(value, dict):
        return [found for key, inner in value.items() for found in _bad_references(inner, (*path, key))]
    if isinstance(value, list):
        return [found for inner in value for found in _bad_references(inner, path)]
    if value == "???":
        return [(path, "??? is still to be filled in")]
    if not isinstance(value, str) or not _calls_a_resolver(value):
        return []
    reason = "only ${section.key} is read here; environment variables are not, and keys are named by api_key_env"
    return [(path, reason)]


def _calls_a_resolver(text: str) -> bool:
    """Tell whether a reference holds a colon, as `${oc.env:NAME}` does, at any depth."""
    depth = position = 0
    while position < len(text):
        if text.startswith("${", position) and not _escapes(text, position):
            depth, position = depth + 1, position + 1
        elif text[position] == "}" and depth:
            depth -= 1
        elif text[position] == ":" and depth:
            return True
        position += 1
    return False


def _escapes(text: str, position: int) -> bool:
    before = text[:position]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
