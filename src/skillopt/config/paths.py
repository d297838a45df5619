"""Which settings are paths, and what they are relative to.

A path written in a file is relative to that file's directory; one given on the command line is relative to the
working directory; `~` is the home directory. All become absolute when the configuration is loaded, so that a resolved
configuration means the same wherever it is read.

In the `env` section these are paths: `skill_init`, `data_path`, every key that ends in `_dir`, `_dirs`, `_file`,
`_files` or `_root`, every text that begins with `./`, `../` or `~/`, and the Python files in `name` and `scorer`. In
the `evaluation` section it is the Python file in `acceptance`, in that of a tracker its `log_dir`.
"""

from __future__ import annotations

import re
from pathlib import Path

from skillopt.config.provenance import KeyPath, Origin, Provenance
from skillopt.errors import ConfigError
from skillopt.types import JsonValue

_PATH_NAME = re.compile(r"skill_init|data_path|(.*_)?(dirs?|files?|root)")
_PATH_TEXT = re.compile(r"(\.\.?|~)/")
_PYTHON_FILE = re.compile(r"(?P<file>.*\.py)(?P<name>:[^\W\d]\w*)?", re.DOTALL)
_CODE_NAMES = frozenset({"acceptance", "name", "scorer"})


def with_absolute_paths(
    values: dict[str, JsonValue], provenance: Provenance, *, working_directory: Path
) -> dict[str, JsonValue]:
    """Return the settings with every path made absolute.

    Raises:
        ConfigError: For text that no path can be made of, with the key and where it was set.
    """

    def section(path: KeyPath, found: JsonValue, keys: frozenset[str] | None) -> JsonValue:
        if not isinstance(found, dict):
            return found
        return {
            key: _resolved((*path, key), value, origin=provenance.of((*path, key)), working_directory=working_directory)
            if keys is None or key in keys
            else value
            for key, value in found.items()
        }

    resolved = dict(values)
    for name, keys in (("env", None), ("evaluation", frozenset({"acceptance"}))):
        if name in values:
            resolved[name] = section((name,), values[name], keys)
    trackers = values.get("trackers")
    if isinstance(trackers, dict):
        own = frozenset({"log_dir"})
        resolved["trackers"] = {name: section(("trackers", name), value, own) for name, value in trackers.items()}
    return resolved


def expanded(path: Path) -> Path:
    """Return a path with `~` expanded; where there is no such user, the path as it is."""
    try:
        return path.expanduser()
    except RuntimeError:
        return path


def _resolved(path: KeyPath, value: JsonValue, *, origin: Origin, working_directory: Path) -> JsonValue:
    if isinstance(value, list):
        return [_resolved(path, item, origin=origin, working_directory=working_directory) for item in value]
    if not isinstance(value, str) or not value or "://" in value:
        return value
    name, file, rest = path[-1], value, ""
    if name in _CODE_NAMES:
        match = _PYTHON_FILE.fullmatch(value)
        if match is None:
            return value
        file, rest = match["file"], match["name"] or ""
    elif not (_PATH_NAME.fullmatch(name) or _PATH_TEXT.match(value)):
        return value
    base = working_directory if origin.file is None else origin.file.parent
    try:
        return str((base / Path(file).expanduser()).resolve()) + rest
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"{'.'.join(path)} ({origin}) is no path: {error}") from None
