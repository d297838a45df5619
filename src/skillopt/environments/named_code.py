"""Which Python code a configuration names, told without running any of it.

Loading a configuration runs no code; using one does (`load.py`, `python_code.py`). Here is what stands between the two:
a configuration from elsewhere can be looked at first. Files are read for their digest and never compiled; a module is
looked for where Python would look, without importing the packages around it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from pathlib import Path

from skillopt.config.schema import Config
from skillopt.environments.load import BUILT_IN, ENTRY_POINT_GROUP, FILE, find_environment
from skillopt.environments.python_code import FUNCTION, read_source
from skillopt.environments.scorers.settings import SCORERS


@dataclass(frozen=True, slots=True)
class NamedCode:
    """Code that runs once a configuration is used.

    Attributes:
        key: The setting that names it, dotted.
        reference: What the setting says.
        path: The file; None where only importing it would tell.
        sha256: Digest of the file's bytes, 64 hexadecimal digits; "" without a file.
        package: Name and version of the installed package that offers it; "" where no entry point does.
    """

    key: str
    reference: str
    path: Path | None
    sha256: str
    package: str = ""


def named_code(config: Config) -> tuple[NamedCode, ...]:
    """Return the code that a configuration names for its environment, its scorer and its acceptance rule.

    Raises:
        EnvironmentLoadError: If there is no environment of that name, or a file is missing or cannot be read.
    """
    found = list(_environment(config.env.name))
    scorer: object = (config.env.model_extra or {}).get("scorer")
    if isinstance(scorer, str) and scorer not in SCORERS and FUNCTION.fullmatch(scorer):
        found.append(_function("env.scorer", scorer))
    if config.evaluation.acceptance is not None:
        found.append(_function("evaluation.acceptance", config.evaluation.acceptance))
    return tuple(found)


def _environment(name: str) -> Sequence[NamedCode]:
    if name in BUILT_IN:
        return ()
    if file := FILE.fullmatch(name):
        return (_code("env.name", name, Path(file["path"])),)
    offered = [entry for entry in entry_points(group=ENTRY_POINT_GROUP) if entry.name == name]
    if not offered:
        find_environment(name)  # Says which names there are.
    return [
        _code(
            "env.name",
            entry.value,
            _module_file(entry.module),
            package=f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown",
        )
        for entry in offered
    ]


def _function(key: str, reference: str) -> NamedCode:
    named = FUNCTION.fullmatch(reference)
    code = named["code"] if named else reference
    return _code(key, reference, Path(code) if code.endswith(".py") else _module_file(code))


def _code(key: str, reference: str, path: Path | None, *, package: str = "") -> NamedCode:
    if path is None:
        return NamedCode(key, reference, None, "", package)
    path = path.absolute()
    return NamedCode(key, reference, path, hashlib.sha256(read_source(path)).hexdigest(), package)


def _module_file(name: str) -> Path | None:
    """Return the file of a module; None where it is not found without running code, as for some editable installs."""
    parts = name.split(".")
    places: Sequence[str] | None = None
    origin: str | None = None
    for length in range(1, len(parts) + 1):
        spec = PathFinder.find_spec(".".join(parts[:length]), places)
        if spec is None:
            return None
        places, origin = spec.submodule_search_locations or [], spec.origin
    return Path(origin) if origin and Path(origin).is_file() else None
