"""The plan of a training as a person reads it."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.table import Table

from skillopt.cli.terminal import console
from skillopt.run.plan import Plan, PlannedStage


def show_plan(plan: Plan) -> None:
    """Print calls, tokens and dollars by stage, as ranges, and the warnings."""
    tasks = ", ".join(f"{name} {count}" for name, count in plan.tasks.items())
    out = console()
    out.print(f"Plan: {plan.steps} steps; tasks: {tasks}", highlight=False)
    table = Table(box=box.SIMPLE, pad_edge=False)
    for name in ("stage", "role", "calls", "tokens in", "tokens out", "dollars"):
        table.add_column(name, justify="left" if name in ("stage", "role") else "right")
    for stage in plan.stages:
        table.add_row(stage.stage, stage.role, *_amounts([stage]))
    table.add_section()
    for role in ("target", "optimizer"):
        table.add_row("all", role, *_amounts([stage for stage in plan.stages if stage.role == role]))
    out.print(table)
    for warning in plan.warnings:
        out.print(f"warning: {warning}", style="yellow", markup=False, highlight=False)


def _amounts(stages: list[PlannedStage]) -> tuple[str, str, str, str]:
    low, high = (sum(stage.calls[end] for stage in stages) for end in (0, 1))
    fresh = [sum(stage.usage[end].fresh_tokens for stage in stages) for end in (0, 1)]
    output = [sum(stage.usage[end].output_tokens for stage in stages) for end in (0, 1)]
    low_price, high_price = (_price([stage.dollars[end] for stage in stages]) for end in (0, 1))
    price = _span(low_price, high_price)
    return _span(f"{low:,}", f"{high:,}"), _span(*map(_short, fresh)), _span(*map(_short, output)), price


def _price(dollars: Sequence[float | None]) -> str:
    known = [amount for amount in dollars if amount is not None]
    return f"{sum(known):.2f}" if len(known) == len(dollars) else "unknown"


def _span(low: str, high: str) -> str:
    return low if low == high else f"{low} - {high}"


def _short(count: int) -> str:
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if count >= size:
            return f"{count / size:.1f}{unit}"
    return str(count)
