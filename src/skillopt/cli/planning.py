"""The plan of a training as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence

from skillopt.cli.terminal import new_table, say, show_table
from skillopt.run.planned import Plan, PlannedStage
from skillopt.wording import counted

_COLUMNS = ("stage", "role", "calls", "tokens in", "tokens out", "dollars")
_UNKNOWN = "unknown"


def show_plan(plan: Plan) -> None:
    """Print calls, tokens and dollars by stage, as ranges, and the warnings."""
    tasks = ", ".join(f"{name} {count}" for name, count in plan.tasks.items())
    steps = counted(plan.steps, "step")
    say(f"Plan: {steps}; tasks: {tasks}. Each range is from nothing proposed to every proposal measured.")
    table = new_table(*_COLUMNS, right=frozenset(_COLUMNS[2:]))
    for stage in plan.stages:
        table.add_row(stage.stage, stage.role, *_amounts([stage]))
    table.add_section()
    for role in ("target", "optimizer"):
        table.add_row("all", role, *_amounts([stage for stage in plan.stages if stage.role == role]))
    show_table(table)
    if any(price is None for stage in plan.stages for price in stage.dollars):
        say("unknown: no public price is known for that model; set model.target.price or model.optimizer.price.")
    for warning in plan.warnings:
        say(f"warning: {warning}", style="yellow")


def _amounts(stages: list[PlannedStage]) -> tuple[str, str, str, str]:
    low, high = (sum(stage.calls[end] for stage in stages) for end in (0, 1))
    fresh = [sum(stage.usage[end].fresh_tokens for stage in stages) for end in (0, 1)]
    output = [sum(stage.usage[end].output_tokens for stage in stages) for end in (0, 1)]
    low_price, high_price = (_price([stage.dollars[end] for stage in stages]) for end in (0, 1))
    price = _span(low_price, high_price)
    return _span(f"{low:,}", f"{high:,}"), _span(*map(_short, fresh)), _span(*map(_short, output)), price


def _price(dollars: Sequence[float | None]) -> str:
    known = [amount for amount in dollars if amount is not None]
    return f"{sum(known):.2f}" if len(known) == len(dollars) else _UNKNOWN


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low}-{high}"


def _short(count: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)
