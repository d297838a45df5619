"""The settings as tables: the reference for the documentation, and the resolved values of one run."""

from __future__ import annotations

import json
from dataclasses import dataclass

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from skillopt.config.describe import kind_of_field, nested_section
from skillopt.config.dump import flattened
from skillopt.config.provenance import KeyPath, Origin, Provenance
from skillopt.config.schema import Config
from skillopt.config.secrets import shown


@dataclass(frozen=True, slots=True)
class SettingDescription:
    """One setting as the documentation shows it.

    Attributes:
        key: The full key; sections of one kind share a row, as in `model.optimizer|target.timeout`.
        type: What it holds, such as "whole number".
        default: As it would be written in a file; "" where it must be set.
        range: Its limits, such as "at least 1"; "" where there are none.
        meaning: The schema's own words.
    """

    key: str
    type: str
    default: str
    range: str
    meaning: str


@dataclass(frozen=True, slots=True)
class ResolvedSetting:
    """One setting of a run: its full key, its value as it would be written in a file, and whence it came."""

    key: str
    value: str
    origin: Origin


def settings_reference(section: type[BaseModel] = Config, *, prefix: str = "") -> list[SettingDescription]:
    """Return a row for every setting, in the schema's order.

    Args:
        section: The whole configuration or, with a prefix, the settings of an environment.
        prefix: The section they stand in, such as "env".
    """
    start = tuple(prefix.split(".")) if prefix else ()
    rows: list[SettingDescription] = []
    shared: dict[type[BaseModel], list[str]] = {}
    for name, field in section.model_fields.items():
        inner = nested_section(field)
        if inner is None:
            rows.append(_row((*start, name), field))
        else:
            shared.setdefault(inner, []).append(name)
    for inner, names in shared.items():
        optional = section.model_fields[names[0]]
        if not optional.is_required() and optional.default is None:
            rows.append(_row((*start, "|".join(names)), optional))
        rows += settings_reference(inner, prefix=".".join((*start, "|".join(names))))
    return rows


def resolved_table(
    config: Config, provenance: Provenance, *, environment: BaseModel | None = None
) -> tuple[ResolvedSetting, ...]:
    """Return every setting of a run with its value and origin.

    Args:
        config: The resolved configuration.
        provenance: Where its values came from.
        environment: The environment's own settings, to show their defaults too.
    """
    rows = {
        path: ResolvedSetting(".".join(path), shown(path, value), provenance.of(path))
        for path, value in flattened(config).items()
    }
    own = environment.model_dump(mode="json") if environment else {}
    for name, value in own.items():
        path = ("env", name)
        if not any(known[:2] == path for known in rows):
            rows[path] = ResolvedSetting(".".join(path), shown(path, value), provenance.of(path))
    return tuple(rows.values())


def _row(path: KeyPath, field: FieldInfo) -> SettingDescription:
    kind = kind_of_field(field)
    default = "" if field.is_required() else json.dumps(field.get_default(call_default_factory=True), default=str)
    return SettingDescription(".".join(path), kind.words, default, kind.range, field.description or "")
