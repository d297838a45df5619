"""Simulated models by name, for configurations: `simulated:target?seed=7&noise=0.1`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qsl

from skillopt.errors import ConfigError
from skillopt.models.base import ChatModel
from skillopt.simulation.optimizer import SimulatedOptimizer
from skillopt.simulation.target import SimulatedTarget
from skillopt.simulation.world import World

PROVIDER: Final = "simulated"

_Reader: TypeAlias = Callable[[str], Any]

_WORLD: Final[Mapping[str, _Reader]] = {
    "seed": int,
    "rules": int,
    "tasks": int,
    "rules_per_task": int,
    "advice": int,
    "misguided": int,
}
_OWN: Final[Mapping[str, Mapping[str, _Reader]]] = {
    "target": {"noise": float, "wavering": float, "lapse": float},
    "optimizer": {
        "useful": float,
        "useless": float,
        "harmful": float,
        "malformed": float,
        "most_edits": int,
        "heeds": float,
        "strays": float,
        "discerns": float,
    },
}


def open_simulated(name: str) -> ChatModel:
    """Return the simulated model of a name.

    Args:
        name: `target` or `optimizer`, with or without `simulated:` ahead, and parameters as in an address: for both
            those of `World`, which both models of a run must share; for the target `noise`, `wavering` and `lapse`; for
            the optimizer `useful`, `useless`, `harmful`, `malformed`, `most_edits`, `heeds`, `strays` and `discerns`.

    Raises:
        ConfigError: For another model, an unknown or repeated parameter, or a value out of its range.
    """
    model, _, query = name.removeprefix(f"{PROVIDER}:").partition("?")
    if model not in _OWN:
        raise ConfigError(
            f"there is no simulated model {model!r} (in {name!r})",
            hint=_nearest(model, tuple(_OWN), prefix=f"{PROVIDER}:"),
        )
    values = _parameters(name, query, {**_WORLD, **_OWN[model]})
    of_world = {key: value for key, value in values.items() if key in _WORLD}
    own = {key: value for key, value in values.items() if key not in _WORLD}
    build: Callable[..., ChatModel] = SimulatedTarget if model == "target" else SimulatedOptimizer
    try:
        return build(World(**of_world), **own)
    except ValueError as error:
        raise ConfigError(f"{name!r}: {error}") from error


def _parameters(name: str, query: str, readers: Mapping[str, _Reader]) -> dict[str, Any]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=True) if query else []
    except ValueError as error:
        raise ConfigError(f"{name!r}: the parameters must read NAME=VALUE&NAME=VALUE") from error
    values: dict[str, Any] = {}
    for key, text in pairs:
        if key not in readers:
            hint = _nearest(key, tuple(readers))
            raise ConfigError(f"{name!r}: there is no parameter {key!r}", hint=hint)
        if key in values:
            raise ConfigError(f"{name!r}: parameter {key!r} stands there twice")
        try:
            values[key] = readers[key](text)
        except ValueError as error:
            wanted = "a whole number" if readers[key] is int else "a number"
            raise ConfigError(f"{name!r}: {key} is {text!r}; it must be {wanted}") from error
    return values


def _nearest(word: str, known: tuple[str, ...], *, prefix: str = "") -> str:
    near = get_close_matches(word, known, n=1, cutoff=0.5)
    if near:
        return f"Did you mean {prefix}{near[0]}?"
    return f"There are: {', '.join(prefix + each for each in known)}."
