"""A value may refer to another setting as `${section.key}`; OmegaConf resolves it.

Only settings can be referred to. OmegaConf's functions, `${oc.env:NAME}` above all, are refused: a value that came out
of the environment would be written into the run directory.
"""

from __future__ import annotations

import re
from typing import cast

from skillopt.config.provenance import KeyPath, Provenance
from skillopt.config.validation import Problem, as_error
from skillopt.errors import ConfigError
from skillopt.types import JsonValue

_REFERENCE = re.compile(r"(?<!\\)\$\{\s*([^${}\s]+)\s*\}")
_LONG = 10_000
"""Characters of a text beyond which a reference to it counts more than once."""

_MOST = 500
"""Most references that are followed in one configuration, those within what is referred to included: values that double
one another would else fill the memory."""


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
    if _followed(values, values, (), 0) > _MOST:
        raise ConfigError(
            f"the values refer to one another more than {_MOST} times, or to texts too long for it",
            hint="Write some of them out in place of ${...}.",
        )
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
    if not isinstance(value, str):
        return []
    reason = _refused(value)
    return [(path, reason)] if reason else []


def _followed(value: JsonValue, values: JsonValue, within: tuple[str, ...], count: int) -> int:
    """Count the references that a value leads to, up to a few beyond the most; a long text counts several times.

    One that leads back to itself is left to OmegaConf, which says so.
    """
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            count = _followed(inner, values, within, count)
            if count > _MOST:
                break
        return count
    if not isinstance(value, str):
        return count
    for found in _REFERENCE.finditer(value):
        named = _named(found[1], values)
        count += 1 + (len(named) // _LONG if isinstance(named, str) else 0)
        if count > _MOST:
            break
        if found[1] not in within:
            count = _followed(named, values, (*within, found[1]), count)
    return count


def _named(name: str, values: JsonValue) -> JsonValue:
    """Return what a reference names; None where there is no such value."""
    for part in re.findall(r"[^.\[\]]+", name):
        if isinstance(values, dict):
            values = values.get(part)
        elif isinstance(values, list) and part.isdecimal() and int(part) < len(values):
            values = values[int(part)]
        else:
            return None
    return values


def _refused(text: str) -> str:
    """Return why a reference is not read: a colon in it, as in `${oc.env:NAME}`, another one in it, or no whole key."""
    depth = position = 0
    reason = ""
    while position < len(text):
        if text.startswith("${", position) and not _escapes(text, position):
            depth, position = depth + 1, position + 1
            if depth > 1:
                reason = "a reference within a reference is not read; write ${section.key}"
            elif text.startswith(".", position + 1):
                reason = "a reference gives the whole key; write ${section.key}"
        elif text[position] == "}" and depth:
            depth -= 1
        elif text[position] == ":" and depth:
            return "only ${section.key} is read here; environment variables are not, and keys are named by api_key_env"
        position += 1
    return reason


def _escapes(text: str, position: int) -> bool:
    start = position
    while start and text[start - 1] == "\\":
        start -= 1
    return (position - start) % 2 == 1
