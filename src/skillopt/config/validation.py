"""From what pydantic says to what a person needs: the key, the value, where it was set, and what may stand there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from skillopt.config.describe import Kind, kind_at, kind_of_field, nested_section, settings
from skillopt.config.env_settings import EnvSettings
from skillopt.config.provenance import KeyPath, Origin, Provenance
from skillopt.config.public_keys import advice, value_to_write
from skillopt.config.schema import Config
from skillopt.config.secrets import dotted, found_secrets, shown
from skillopt.errors import ConfigError
from skillopt.types import JsonValue

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

SettingsT = TypeVar("SettingsT", bound=BaseModel)

_LIKE_ENOUGH = 60.0
"""Similarity, 0 to 100, from which another key or word is worth naming."""

_SWITCHES: Mapping[bool, tuple[str, ...]] = {False: ("off", "no"), True: ("on", "yes")}
"""Words that YAML reads as truth values."""

_MODELS_EXAMPLE = """Name both models, each as provider:model, for example
  model:
    optimizer: openai:gpt-5.5
    target: ollama:qwen3"""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong in a configuration, in one sentence without its place."""

    text: str
    origin: Origin

    def __str__(self) -> str:
        return f"{self.origin}: {self.text}" if self.origin.kind != "default" else self.text


def validated_config(values: Mapping[str, JsonValue], provenance: Provenance) -> Config:
    """Return the configuration, or say all that is wrong with it.

    Raises:
        ConfigError: One for all problems, each with key, value, place and what is allowed; no secret is shown.
    """
    refuse_secrets(values, provenance)
    try:
        return Config.model_validate(_with_switches_as_words(values, Config))
    except ValidationError as error:
        details = error.errors(include_url=False)
    unnamed = [_path(detail) for detail in details if _is_missing_model(detail)]
    problems = [
        _problem(detail, schema=Config, provenance=provenance, prefix=(), known=_known_keys(Config))
        for detail in details
        if not _is_missing_model(detail)
    ]
    if unnamed:
        names = " and ".join(".".join(path[:2]) for path in unnamed)
        problems.append(Problem(f"{names} {'is' if len(unnamed) == 1 else 'are'} not set", Origin("default")))
    raise as_error(problems, hint=_MODELS_EXAMPLE if unnamed else "")


def validate_section(
    settings_class: type[SettingsT], values: Mapping[str, Any], *, provenance: Provenance, prefix: str = "env"
) -> SettingsT:
    """Return the settings that an environment declares for itself, checked like every other key.

    Args:
        settings_class: What the environment accepts.
        values: The keys of the section that are not the schema's own (`config.env.model_extra`).
        provenance: Where they were set.
        prefix: The section they stand in.

    Raises:
        ConfigError: As for the rest of the configuration; an unknown key is compared with the environment's keys and
            with the section's own.
    """
    try:
        return settings_class.model_validate(_with_switches_as_words(values, settings_class))
    except ValidationError as error:
        details = error.errors(include_url=False)
    known = [(prefix, *path) for path in (*_known_keys(settings_class), *_known_keys(EnvSettings))]
    raise as_error(
        _problem(detail, schema=settings_class, provenance=provenance, prefix=(prefix,), known=known)
        for detail in details
    )


def refuse_secrets(values: Mapping[str, JsonValue], provenance: Provenance) -> None:
    """Raise `ConfigError` for every key, token or password in the settings, never showing one."""
    problems = [
        Problem(f"{dotted(path)} is refused and not shown: {reason}", provenance.nearest(path))
        for path, reason in found_secrets(dict(values))
    ]
    if problems:
        raise as_error(problems)


def as_error(problems: Iterable[Problem], *, hint: str = "") -> ConfigError:
    """Gather problems in one error, in the order of the lines they stand on."""
    ordered = sorted(problems, key=lambda problem: (str(problem.origin.file or ""), problem.origin.line))
    if len(ordered) == 1:
        return ConfigError(str(ordered[0]), hint=hint)
    lines = "".join(f"\n  - {problem}" for problem in ordered)
    return ConfigError(f"the configuration has {len(ordered)} problems:{lines}", hint=hint)


def nearest(word: str, choices: Sequence[str]) -> str:
    """Return the choice most like a misspelt word; "" where none is like it."""
    from rapidfuzz import fuzz, process

    found = process.extractOne(word, choices, scorer=fuzz.ratio, score_cutoff=_LIKE_ENOUGH)
    return found[0] if found else ""


def nearest_key(path: KeyPath, known: Sequence[KeyPath]) -> str:
    """Return the known key, dotted, that an unknown one most likely means; "" where none is like it.

    The same name in another section counts first, then the likeliest neighbour, then the likeliest key anywhere.
    """
    elsewhere = [".".join(key) for key in known if key[-1] == path[-1]]
    if elsewhere:
        return nearest(".".join(path), elsewhere) or elsewhere[0]
    neighbours = {key[-1]: ".".join(key) for key in known if key[:-1] == path[:-1]}
    neighbour = nearest(path[-1], list(neighbours))
    return neighbours[neighbour] if neighbour else nearest(".".join(path), [".".join(key) for key in known])


def _with_switches_as_words(values: Mapping[str, Any], section: type[BaseModel]) -> dict[str, Any]:
    """Return values with words in place of truth values where a setting may be such a word, which YAML reads so."""
    meant = dict(values)
    for name, field in section.model_fields.items():
        value, inner = values.get(name), nested_section(field)
        if inner is not None and isinstance(value, dict):
            meant[name] = _with_switches_as_words(value, inner)  # pyright: ignore[reportUnknownArgumentType]
        elif isinstance(value, bool):
            words = [word for word in kind_of_field(field).choices if word in _SWITCHES[value]]
            meant[name] = words[0] if words else value
    return meant


def _problem(
    detail: ErrorDetails, *, schema: type[BaseModel], provenance: Provenance, prefix: KeyPath, known: Sequence[KeyPath]
) -> Problem:
    inner = _path(detail)
    path = (*prefix, *inner)
    key, origin = ".".join(path), provenance.nearest(path)
    if detail["type"] == "extra_forbidden":
        return Problem(_unknown(path, known), origin)
    if detail["type"] == "missing":
        return Problem(f"{key} is not set and has no default", origin)
    if detail["type"] == "value_error":
        reason = detail["msg"].removeprefix("Value error, ")
        section = not isinstance(detail["input"], str | int | float)
        return Problem(f"{key}: {reason}" if section else f"{key} is {shown(path, detail['input'])}; {reason}", origin)
    value: JsonValue = detail["input"]
    allowed = kind_at(schema, inner) or Kind(detail["msg"])
    text = f"{key} is {shown(path, value)}; it must be: {allowed}"
    return Problem(text + _correction(detail["type"], value, allowed, key=path[-1]), origin)


def _unknown(path: KeyPath, known: Sequence[KeyPath]) -> str:
    key = ".".join(path)
    told = advice(path)
    if told:
        return f"{key} is not a key here: {told}"
    if len(path) == 1 and "." in key:
        section, _, name = key.partition(".")
        return f"{key} is no key; in a file sections are nested: write `{section}:` and, indented below it, `{name}:`"
    likely = nearest_key(path, known)
    return f"unknown key {key}" + (f"; did you mean {likely}?" if likely else "")


def _correction(error_type: str, value: Any, allowed: Kind, *, key: str) -> str:
    if value is None:
        return "; leave the key out for its default"
    if error_type == "literal_error":
        meant = value_to_write(key, value)
        if meant:
            return f"; write {meant}"
        likely = nearest(str(value), allowed.choices)
        return f"; did you mean {likely}?" if likely else ""
    if error_type in ("int_type", "float_type", "bool_type") and isinstance(value, str):
        from skillopt.config.yaml_text import read_value

        meant = read_value(value.strip(" \"'[{"))
        wanted = {"int_type": int, "float_type": int | float, "bool_type": bool}[error_type]
        if isinstance(meant, wanted) and (error_type == "bool_type") == isinstance(meant, bool):
            return f"; write {str(meant).lower()} without quotes"
    if error_type == "string_type" and isinstance(value, bool | int | float):
        return "; write the text in quotes"
    return ""


def _path(detail: ErrorDetails) -> KeyPath:
    return tuple(part for part in detail["loc"] if isinstance(part, str))


def _is_missing_model(detail: ErrorDetails) -> bool:
    path = _path(detail)
    return detail["type"] == "missing" and len(path) == 3 and path[0] == "model" and path[2] == "name"


def _known_keys(section: type[BaseModel]) -> list[KeyPath]:
    keys = [path for path, _ in settings(section)]
    sections = {path[:length]: None for path in keys for length in range(1, len(path))}
    return [*sections, *keys]
