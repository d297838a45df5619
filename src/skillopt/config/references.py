"""A value may refer to another setting as `${section.key}`; OmegaConf resolves it.

Only settings can be referred to. OmegaConf's functions, `${oc.env:NAME}` above all, are refused: a value that came out
of the environment would be written into the run directory.
"""

from __future__ import annotations

from typing import cast

from skillopt.config.provenance import KeyPath, Provenance
from skillopt.config.validation import Problem, as_error
from skillopt.errors import ConfigError
from skillopt.types import JsonValue


def with_references_resolved(values: dict[str, JsonValue], provenance: Provenance) -> dict[str, JsonValue]:
    """Return the settings with every `${section.key}` replaced by what it names, with that value's type.

    Raises:
        ConfigError: If a reference names nothing, itself, or anything but a setting, or a value is still `???`.
    """
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
