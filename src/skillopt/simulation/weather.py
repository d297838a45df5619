"""What can go wrong between a client and a server, as values that a test or a benchmark hands to the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from skillopt.digests import digest, generator
from skillopt.types import JsonValue


@dataclass(frozen=True, slots=True)
class Call:
    """A request that reached the server.

    Attributes:
        number: From 0, over all models, in the order of arrival.
        model: "target" or "optimizer"; "" for a request that names no model it serves.
        body: The request as it came.
        earlier: How many calls with the same body came before.
    """

    number: int
    model: str
    body: Mapping[str, JsonValue]
    earlier: int = 0


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong with one call.

    Attributes:
        kind: "status" answers with an HTTP error; "hang" never answers; "reset" breaks the connection; "cut_body"
            breaks it in the middle of the answer; "stalled_body" stops there and never goes on; "slow_body" sends the
            whole answer in many small pieces; "wrong_type" sends it as an HTML page; "garbage" answers 200 with what is
            no JSON; "error_inside" with an error; "no_choices" without a choice; "broken_off" with half a reply and
            finish reason "error"; "empty" with an empty message; "reasoning_only" with reasoning and no answer;
            "withheld" with an empty message and finish reason "content_filter"; "cut" with the first half of the reply
            and finish reason "length"; "off_topic" with a text that nobody asked for.
        status: HTTP status code of a "status" fault; what an "error_inside" gives as its code.
        message: What its error body says.
        retry_after: Its Retry-After header, in seconds or as an HTTP date; None sends none.
        error_type: The type of error that its body names.
    """

    kind: Literal[
        "status",
        "hang",
        "reset",
        "cut_body",
        "stalled_body",
        "slow_body",
        "wrong_type",
        "garbage",
        "error_inside",
        "no_choices",
        "broken_off",
        "empty",
        "reasoning_only",
        "withheld",
        "cut",
        "off_topic",
    ]
    status: int = 500
    message: str = "simulated fault"
    retry_after: str | None = None
    error_type: str = "simulated_error"


PASSING: tuple[Fault, ...] = (
    Fault("status", 429),
    Fault("status", 429, retry_after="2"),
    Fault("status", 429, retry_after="Wed, 21 Oct 2015 07:28:00 GMT"),
    Fault("status", 429, retry_after="Wed, 21 Oct 2099 07:28:00 GMT"),
    Fault("status", 429, retry_after="86400"),
    Fault("status", 429, retry_after="-5"),
    Fault("status", 429, retry_after="soon"),
    Fault("status", 408),
    Fault("status", 500),
    Fault("status", 503, retry_after="1"),
    Fault("reset"),
    Fault("hang"),
    Fault("cut_body"),
    Fault("stalled_body"),
    Fault("slow_body"),
    Fault("wrong_type"),
    Fault("garbage"),
    Fault("error_inside", 502),
    Fault("error_inside", 429),
    Fault("no_choices"),
    Fault("broken_off"),
)
"""Faults of every kind that change no reply: another attempt has it whole."""

BLANK: tuple[Fault, ...] = (Fault("empty"), Fault("reasoning_only"))
"""Replies without an answer. They are faults of the moment for a target only; an optimizer is told of its own."""

Weather: TypeAlias = Callable[[Call], Fault | None]
"""Decides what goes wrong with a call; None lets it through."""


def fair(call: Call) -> Fault | None:
    """Let every call through."""
    return None


def scripted(faults: Sequence[Fault | None]) -> Weather:
    """Return weather that gives the first calls these faults, by number; later calls go through."""
    script = tuple(faults)
    return lambda call: script[call.number] if call.number < len(script) else None


def stormy(seed: int, share: float) -> Weather:
    """Return weather that strikes a share of all calls with passing faults, by chance.

    What befalls a call depends on the seed, on its body and on how often that came before: never on the order of
    arrival, so two equal runs meet the same weather.

    Args:
        seed: Of the choices.
        share: Of the calls that it strikes, 0 to 1.
    """

    def strike(call: Call) -> Fault | None:
        chance = generator(seed, f"weather {digest(dict(call.body))}", call.earlier)
        faults = PASSING + BLANK if call.model == "target" else PASSING
        return chance.choice(faults) if chance.random() < share else None

    return strike
