"""Loads a configuration: files and overrides in, a checked `Config` that knows whence each value came out.

The last one wins: the schema's defaults, the preset, the files named by `_base_`, the file, the overrides from left to
right. Mappings merge key by key and lists are replaced. A model given as a plain string replaces the whole role, so
that the address or price of another provider never stays behind; a model given as a mapping merges. A value may refer
to another one as `${section.key}`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel

from skillopt.config import dump, table
from skillopt.config.describe import nested_section
from skillopt.config.layers import file_layers, override_layer
from skillopt.config.paths import expanded, with_absolute_paths
from skillopt.config.presets import preset_layer
from skillopt.config.provenance import Provenance, stacked
from skillopt.config.references import with_references_resolved
from skillopt.config.schema import Config
from skillopt.config.validation import refuse_secrets, validated_config
from skillopt.types import JsonValue


@dataclass(frozen=True)
class LoadedConfig:
    """A configuration with its history.

    Attributes:
        config: The checked settings; its paths are absolute.
        provenance: Where each value came from, by its dotted key.
        path: The file that was loaded, absolute.
        files: It and the files that it is built on, those first.
    """

    config: Config
    provenance: Provenance
    path: Path
    files: tuple[Path, ...]

    def to_yaml(self, *, out_root: str | None = None) -> str:
        """Return every setting, resolved, as YAML that loads back as the same configuration; it holds no secret.

        Args:
            out_root: What to write as `env.out_root` in place of the run directory; relative to where the text is kept.
        """
        if out_root is None:
            return dump.to_yaml(self.config)
        env = self.config.env.model_copy(update={"out_root": out_root})
        return dump.to_yaml(self.config.model_copy(update={"env": env}))

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
    file = directory / expanded(Path(path))
    layers = [*file_layers(file), *(override_layer(override) for override in overrides)]
    for layer in layers:
        refuse_secrets(layer.values, Provenance(layer.origins))
    values, provenance = stacked([preset_layer(layers), *layers], _defaults(Config))
    values = with_references_resolved(values, provenance)
    values = with_absolute_paths(values, provenance, working_directory=directory)
    files = tuple(layer.file for layer in layers if layer.file is not None)
    return LoadedConfig(validated_config(values, provenance), provenance, file, files)


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
