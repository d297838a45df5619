"""What a step, an epoch or a run used of both models, as the records say it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from skillopt.models.meter import MeterRow, total


def spending(rows: Iterable[MeterRow], *, step: int) -> dict[str, Any]:
    """Return what a step used of both models, and the running totals up to and with it.

    Replies that the evidence answered count like those that were paid: what a run used does not depend on how often it
    was interrupted.
    """
    until = [row for row in rows if row.step <= step]
    return {
        "usage": by_role_and_stage([row for row in until if row.step == step]),
        "tokens": _by_stage(row for row in until if row.step == step),
        "total_usage": by_role(until),
    }


def by_role_and_stage(rows: Sequence[MeterRow]) -> dict[str, Any]:
    """Return calls, tokens and dollars under keys such as `target.gate`."""
    groups: dict[str, list[MeterRow]] = {}
    for row in rows:
        groups.setdefault(f"{row.role}.{row.stage}", []).append(row)
    return {name: _amounts(group) for name, group in groups.items()}


def by_role(rows: Sequence[MeterRow]) -> dict[str, Any]:
    """Return calls, tokens and dollars of the target and of the optimizer."""
    return {role: _amounts([row for row in rows if row.role == role]) for role in ("target", "optimizer")}


def _by_stage(rows: Iterable[MeterRow]) -> dict[str, Any]:
    """The public form: prompt and completion tokens by stage."""
    stages: dict[str, dict[str, Any]] = {}
    for row in rows:
        stage = stages.setdefault(row.stage, {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0})
        stage["calls"] += row.usage.calls
        stage["prompt_tokens"] += row.usage.fresh_tokens + row.usage.cached_tokens
        stage["completion_tokens"] += row.usage.output_tokens
    return stages


def _amounts(rows: Sequence[MeterRow]) -> dict[str, Any]:
    spent = total(rows)
    return {
        "calls": spent.usage.calls,
        "fresh_tokens": spent.usage.fresh_tokens,
        "cached_tokens": spent.usage.cached_tokens,
        "output_tokens": spent.usage.output_tokens,
        "dollars": spent.dollars,
    }
