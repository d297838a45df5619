"""From the name in a configuration to the environment.

A name is a built-in one, an entry point of the group `skillopt.environments`, or a Python file. There is no registry:
nothing is imported before it is asked for, and an import that fails is an error with its reason, never a missing name.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, TypeAlias, cast

from skillopt.config.env_settings import EnvSettings
from skillopt.config.provenance import Provenance
from skillopt.config.validation import validate_section
from skillopt.digests import canonical_json
from skillopt.environments.base import Environment, EnvironmentSettings
from skillopt.environments.foreign import foreign_code, shape_of
from skillopt.environments.python_code import load_file
from skillopt.errors import EnvironmentLoadError

ENTRY_POINT_GROUP = "skillopt.environments"
"""Group in which an installed package offers an environment: `NAME = "package.module:ClassName"`."""

_QUESTION_ANSWERING = ("skillopt.environments.question_answering", "QuestionAnswering")
BUILT_IN: Mapping[str, tuple[str, str]] = {"question_answering": _QUESTION_ANSWERING, "qa": _QUESTION_ANSWERING}
"""Module and class by built-in name."""

_IDENTITY_HINT = 'Extend the inherited value: `return {**super().identity, "more": ...}`; it must have a JSON form.'

FILE = re.compile(r"(?P<path>.+\.py)(?::(?P<class_name>\w+))?")
"""How an environment in a Python file is named."""

AnyEnvironment: TypeAlias = Environment[Any]
Validate: TypeAlias = Callable[[type[EnvironmentSettings], Mapping[str, Any]], EnvironmentSettings]
"""Turns the environment's own keys into its settings, or raises `ConfigError`."""


def _without_places(settings_class: type[EnvironmentSettings], values: Mapping[str, Any]) -> EnvironmentSettings:
    return validate_section(settings_class, values, provenance=Provenance({}))


def load_environment(env: EnvSettings, validate: Validate = _without_places) -> AnyEnvironment:
    """Return the environment that `env.name` picks, with its settings checked.

    Args:
        env: The `env` section. A relative file in `env.name` is read from the working directory.
        validate: How the environment's own keys become its settings; by default errors
            name the key and not the file and line it was set on.

    Raises:
        EnvironmentLoadError: If there is no such environment, or its code cannot be loaded or used.
        ConfigError: If its own keys do not fit its settings.
    """
    environment_class = find_environment(env.name)
    with foreign_code(f"{env.name}: its settings raised "):
        settings = validate(environment_class.Settings, env.model_extra or {})
    with foreign_code(f"{env.name}: making the environment raised "):
        environment = environment_class(settings)
    with foreign_code(f"{env.name}: its identity raised ", hint=_IDENTITY_HINT):
        identity = canonical_json(dict(environment.identity))
    if environment.code and environment.code not in identity:
        raise EnvironmentLoadError(
            f"{env.name}: {environment_class.__name__}.identity leaves out which code it is", hint=_IDENTITY_HINT
        )
    with foreign_code(f"{env.name}: its purpose raised "):
        purpose = cast("object", environment.purpose)
    if not isinstance(purpose, str):
        raise EnvironmentLoadError(f"{env.name}: its purpose is {shape_of(purpose)}; it must be a text")
    return environment


def find_environment(name: str) -> type[AnyEnvironment]:
    """Return the class behind a name: built-in, entry point or Python file.

    Raises:
        EnvironmentLoadError: If there is none, or its code cannot be loaded.
    """
    if name in BUILT_IN:
        module, class_name = BUILT_IN[name]
        return getattr(importlib.import_module(module), class_name)
    if file := FILE.fullmatch(name):
        return _from_file(Path(file["path"]).absolute(), file["class_name"])
    offered = entry_points(group=ENTRY_POINT_GROUP)
    if found := [entry for entry in offered if entry.name == name]:
        return _from_entry_point(name, found)
    known = sorted({*BUILT_IN, *offered.names})
    close = difflib.get_close_matches(name.lower(), known, n=1)
    raise EnvironmentLoadError(
        f"env.name: there is no environment {name!r}",
        hint=(f"Did you mean {close[0]!r}? " if close else "")
        + f"Known names: {', '.join(known)}; or name a Python file such as my_env.py.",
    )


def _from_entry_point(name: str, found: list[EntryPoint]) -> type[AnyEnvironment]:
    origins = sorted(f"{entry.dist.name} {entry.dist.version}" if entry.dist else "unknown" for entry in found)
    if len(found) > 1:
        raise EnvironmentLoadError(
            f"environment {name!r} is offered by several packages: {', '.join(origins)}", hint="Uninstall all but one."
        )
    with foreign_code(f"environment {name!r} of {origins[0]} ({found[0].value}) cannot be loaded: "):
        loaded = found[0].load()
    if not _is_environment(loaded):
        raise EnvironmentLoadError(f"{found[0].value} of {origins[0]} is no subclass of skillopt's Environment")
    return _usable(loaded, f"{found[0].value} of {origins[0]}", code=origins[0])


def _from_file(path: Path, class_name: str | None) -> type[AnyEnvironment]:
    loaded = load_file(path)
    own = {
        key: cast("type[AnyEnvironment]", value)
        for key, value in vars(loaded.module).items()
        if _is_environment(value) and value.__module__ == loaded.module.__name__
    }
    if class_name is not None:
        if class_name not in own:
            raise EnvironmentLoadError(
                f"{path}: there is no environment class {class_name!r}",
                hint=f"It defines: {', '.join(own) or 'none'}.",
            )
        return _usable(own[class_name], f"{path}: {class_name}", code=loaded.sha256)
    concrete = [key for key, value in own.items() if not inspect.isabstract(value)]
    if not own:
        raise EnvironmentLoadError(
            f"{path}: it defines no subclass of Environment",
            hint="Write `class MyEnvironment(Environment[MySettings])` with `present` and `score`.",
        )
    if len(concrete) > 1:
        raise EnvironmentLoadError(
            f"{path}: it defines several environments: {', '.join(concrete)}",
            hint=f"Name one: {path.name}:{concrete[0]}.",
        )
    chosen = concrete[0] if concrete else next(iter(own))
    return _usable(own[chosen], f"{path}: {chosen}", code=loaded.sha256)


def _is_environment(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Environment)


def _usable(environment_class: type[AnyEnvironment], where: str, *, code: str) -> type[AnyEnvironment]:
    if missing := sorted(environment_class.__abstractmethods__):
        raise EnvironmentLoadError(
            f"{where} lacks {', '.join(missing)}", hint="Write them; docs/environments.md shows how."
        )
    if not getattr(environment_class, "name", ""):
        raise EnvironmentLoadError(f"{where} has no name", hint='Add the line `name = "my_environment"` to the class.')
    settings_class = cast("object", environment_class.Settings)
    if not (isinstance(settings_class, type) and issubclass(settings_class, EnvironmentSettings)):
        raise EnvironmentLoadError(
            f"{where}: its Settings are {shape_of(cast('object', settings_class))}",
            hint="Make them a subclass of EnvironmentSettings.",
        )
    for name in ("name", "version"):
        text: object = getattr(environment_class, name)
        if not isinstance(text, str):
            raise EnvironmentLoadError(f"{where}: its {name} is {shape_of(text)}; it must be a text")
    environment_class.code = code
    return environment_class
