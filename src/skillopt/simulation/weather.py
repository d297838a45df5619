"""What can go wrong between a client and a server, as values that a test or a benchmark hands to the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from skillopt.types import JsonValue


@dataclass(frozen=True, slots=True)
class Call:
    """A request that reached the server.

    Attributes:
        number: From 0, over all models, in the order of arrival.
        model: "target" or "optimizer"; "" for a request that names no model it serves.
        body: The request as it came.
    """

    number: int
    model: str
    body: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong with one call.

    Attributes:
        kind: "status" answers with an HTTP error; "hang" never answers; "reset" breaks the connection; "garbage"
            answers 200 with what is no JSON; "no_choices" answers 200 without a choice; "empty" with an empty message;
            "cut" with the first half of the reply and finish reason "length"; "reasoning_only" with reasoning and no
            answer.
        status: HTTP status code of a "status" fault.
        message: What its error body says.
        retry_after: Its Retry-After header, in seconds or as an HTTP date; None sends none.
    """

    kind: Literal["status", "hang", "reset", "garbage", "no_choices", "empty", "cut", "reasoning_only"]
    status: int = 500
    message: str = "simulated fault"
    retry_after: str | None = None


Weather: TypeAlias = Callable[[Call], Fault | None]
"""Decides what goes wrong with a call; None lets it through."""


def fair(call: Call) -> Fault | None:
    """Let every call through."""
    return None


def scripted(faults: Sequence[Fault | None]) -> Weather:
    """Return weather that gives the first calls these faults, by number; later calls go through."""
    script = tuple(faults)
    return lambda call: script[call.number] if call.number < len(script) else None
