"""What a person should know of the limits before a training starts: which do not bind, and which leave too little."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import mean

from skillopt.config.limit_settings import AmountSettings
from skillopt.config.schema import Config
from skillopt.models.prices import Prices
from skillopt.run.planned import FEW_STEPS, PlannedStage
from skillopt.types import Role, Usage

_ROLES: tuple[Role, ...] = ("target", "optimizer")
LARGE_DOLLARS = 10.0
"""A training that may cost so much, and that nothing limits, is not begun without a word."""
LARGE_CALLS = 5000
"""The same for calls whose price nobody knows."""
_ONCE = frozenset({"baseline", "final", "test"})
"""Stages that no further proposal repeats; the test comes after all of them."""


def limit_warnings(config: Config, stages: Sequence[PlannedStage], *, steps: int, prices: Prices) -> tuple[str, ...]:
    """Return a sentence for each limit that does not bind a model, and for each that may end before three proposals.

    Args:
        config: The settings; `limits` holds the limits.
        stages: What the training will use.
        steps: Its steps.
        prices: What tokens cost.
    """
    return (*_unbound(config, prices), *_too_low(config, stages, steps))


def large_and_unlimited(config: Config, stages: Sequence[PlannedStage]) -> str:
    """Return how much a training may come to that nothing limits, in a sentence; "" where it is small or limited.

    Args:
        config: The settings; a limit of calls, tokens or dollars on the run or on both roles is a limit.
        stages: What the training will use.
    """
    by_role = (config.limits.target, config.limits.optimizer)
    if _binds(config.limits) or all(_binds(role) for role in by_role):
        return ""
    prices = [stage.dollars[1] for stage in stages if stage.calls[1]]
    dollars = sum(price for price in prices if price is not None)
    if dollars >= LARGE_DOLLARS:
        return f"the training may cost up to ${dollars:,.0f}, and nothing limits it: limits.dollars does"
    calls = sum(stage.calls[1] for stage in stages if stage.dollars[1] is None)
    if calls >= LARGE_CALLS:
        return f"up to {calls:,} calls may be paid whose price is not known, and nothing limits them: limits.calls does"
    return ""


def _binds(most: AmountSettings) -> bool:
    return any(amount is not None for amount in (most.calls, most.tokens, most.dollars))


def _unbound(config: Config, prices: Prices) -> Iterator[str]:
    for role in _ROLES:
        limited = config.limits.dollars is not None or getattr(config.limits, role).dollars is not None
        if limited and prices.dollars(role, Usage(1, fresh_tokens=1000, output_tokens=1000)) is None:
            name = getattr(config.model, role).name
            yield (
                f"the price of {name} is not known, so no limit of dollars binds the {role}: set model.{role}.price, "
                "or limit its calls or tokens; the other limits hold"
            )


def _too_low(config: Config, planned: Sequence[PlannedStage], steps: int) -> Iterator[str]:
    scopes: tuple[tuple[str, tuple[Role, ...], AmountSettings], ...] = (
        ("limits", _ROLES, config.limits),
        ("limits.target", ("target",), config.limits.target),
        ("limits.optimizer", ("optimizer",), config.limits.optimizer),
    )
    for key, roles, most in scopes:
        stages = [(stage, _share(stage, steps)) for stage in planned if stage.role in roles]
        calls = sum(share * mean(stage.calls) for stage, share in stages)
        tokens = sum(share * mean(usage.tokens for usage in stage.usage) for stage, share in stages)
        dollars = sum(share * mean(price or 0.0 for price in stage.dollars) for stage, share in stages)
        needed = (("calls", most.calls, calls), ("tokens", most.tokens, tokens), ("dollars", most.dollars, dollars))
        for name, limit, amount in needed:
            if limit is not None and limit < amount:
                yield (
                    f"{key}.{name} {limit:g} may end the training before {FEW_STEPS} proposals were judged: they take "
                    f"about {amount:.3g}"
                )


def _share(stage: PlannedStage, steps: int) -> float:
    """How much of a stage the first proposals need: the baseline whole, the test not yet."""
    if stage.stage in _ONCE:
        return float(stage.stage == "baseline")
    return min(1.0, FEW_STEPS / steps)
