"""What a run used by role and stage, and what was paid for it, as lines of a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from skillopt.report.course import Record
from skillopt.report.run_files import RunFiles
from skillopt.report.stored_rows import LedgerLine

_USAGE = ("calls", "fresh_tokens", "cached_tokens", "output_tokens")


@dataclass(frozen=True, slots=True)
class SpendingLine:
    """What was used at one stage by one role, or in all; `dollars` is None where a price is unknown."""

    role: str
    stage: str
    calls: int
    fresh_tokens: int
    cached_tokens: int
    output_tokens: int
    dollars: float | None


def by_stage(summary: Record) -> Iterator[SpendingLine]:
    """Yield what the run used at each stage, the target first; nothing while no end is recorded."""
    usage: Mapping[str, Record] = summary.get("usage") or {}
    for key in sorted(usage, key=lambda name: (name.partition(".")[0] != "target", name)):
        role, _, stage = key.partition(".")
        yield _line(role, stage, usage[key])


def totals(files: RunFiles) -> Iterator[SpendingLine]:
    """Yield what each role used, up to the last step while no end is recorded, and what was paid for it."""
    yield from _with_sums(_used(files))
    yield from _with_sums(_paid(files))


def _used(files: RunFiles) -> Iterator[SpendingLine]:
    ended = files.last_record if files.summary is None else files.summary
    used: Mapping[str, Record] = ended.get("total_usage") or {}
    for role, usage in used.items():
        yield _line(role, "used by the run", usage)


def _paid(files: RunFiles) -> Iterator[SpendingLine]:
    for role in ("target", "optimizer"):
        paid = [line for line in files.ledger if line.role == role and line.source == "paid" and line.stage != "eval"]
        if paid:
            yield _sum(role, "paid by all starts", paid)


def _with_sums(lines: Iterable[SpendingLine]) -> Iterator[SpendingLine]:
    """Yield the lines of the roles, and their sum where there are several."""
    own = tuple(lines)
    yield from own
    if len(own) > 1:
        yield _sum("both", own[0].stage, own)


def _sum(role: str, stage: str, lines: Sequence[SpendingLine | LedgerLine]) -> SpendingLine:
    """Return the sum of lines; without a price where one of them has none."""
    counts = {name: sum(getattr(line, name) for line in lines) for name in _USAGE}
    prices = [line.dollars for line in lines]
    dollars = None if None in prices else sum(price or 0.0 for price in prices)
    return SpendingLine(role, stage, **counts, dollars=dollars)


def _line(role: str, stage: str, usage: Record) -> SpendingLine:
    return SpendingLine(role, stage, *(int(usage.get(name) or 0) for name in _USAGE), dollars=usage.get("dollars"))
