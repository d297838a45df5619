"""The table: what was measured, as Markdown, and its place in the page."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.gate_quality.metrics import Mean, difference, mean_of, rate
from benchmarks.gate_quality.rows import BASE

PAGE = Path(__file__).parents[2] / "docs" / "gate_quality.md"
_PART = re.compile(r"(?<=<!-- measured: gate quality -->\n).*?(?=<!-- end -->)", re.DOTALL)

Measured = Mapping[str, Sequence[Mapping[str, float]]]
"""For each row the measures of its trainings, one for each seed, in the order of the seeds."""

_HEAD = (
    ("row", ""), ("gain 25 %", ""), ("gain 50 %", ""), ("gain 100 %", ""), ("against", "50 %"), ("against", "100 %"),
    ("overstated", ""), ("useful accepted", ""), ("useless accepted", ""), ("harmful accepted", ""),
    ("harmful kept", ""), ("target calls", ""), ("optimizer calls", ""),
)  # fmt: skip


@dataclass(frozen=True)
class Table:
    """One world's table.

    Attributes:
        world: Its name.
        measured: What its trainings came to.
        base: The row that the others are compared with.
    """

    world: str
    measured: Measured
    base: str = BASE

    def of(self, names: Iterable[str], *, base: str) -> Table:
        """Return the table of some of its rows, as far as it has them, compared with another one."""
        return Table(self.world, {name: self.measured[name] for name in names if name in self.measured}, base)

    def markdown(self) -> str:
        """Return it as Markdown."""
        head = [f"{name} {self.base}, {share}" if name == "against" else name for name, share in _HEAD]
        lines = [_line(head), _line(["---"] * len(head)), *(_line(self._cells(name)) for name in self.measured)]
        return f"### {self.world}\n\n{len(self.measured[self.base])} trainings a row.\n\n" + "\n".join(lines)

    def _cells(self, name: str) -> list[str]:
        own, base = self.measured[name], self.measured[self.base]

        def shown(measure: str, digits: int = 1) -> str:
            return with_error(mean_of([row[measure] for row in own]), digits=digits)

        def against(measure: str) -> str:
            return "" if name == self.base else with_error(difference(own, base, measure), signed=True)

        return [
            name,
            *(shown(f"gain {share}") for share in ("25%", "50%", "100%")),
            *(against(f"gain {share}") for share in ("50%", "100%")),
            shown("overstated"),
            *(_share(rate(own, kind)) for kind in ("useful", "useless", "harmful")),
            shown("harmful kept", 2),
            *(f"{mean_of([row[f'{role} calls'] for row in own]).value:.0f}" for role in ("target", "optimizer")),
        ]


def overview(tables: Sequence[Table]) -> str:
    """Return for each row the difference of its true gain from the base row's at the call limit, world by world."""
    names = dict.fromkeys(name for table in tables for name in table.measured if name != table.base)
    head = ["row", *(table.world for table in tables)]
    rows = [[name, *(_at_the_limit(table, name) for table in tables)] for name in names]
    return "\n".join([_line(head), _line(["---"] * len(head)), *map(_line, rows)])


def _at_the_limit(table: Table, name: str) -> str:
    if name not in table.measured:
        return ""
    return with_error(difference(table.measured[name], table.measured[table.base], "gain 100%"), signed=True)


def with_error(value: Mean, *, digits: int = 1, signed: bool = False) -> str:
    """Return a mean with its standard error, such as "+3.1 ± 0.8"."""
    # Rounded first: no zero has a sign of its own.
    rounded = round(value.value, digits) + 0.0
    error = "" if math.isnan(value.error) else f" ± {value.error:.{digits}f}"
    return f"{rounded:{'+' if signed else ''}.{digits}f}{error}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}".replace("%", " %")


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def page_with(page: str, part: str) -> str:
    """Return the page with its generated part made anew.

    Raises:
        ValueError: If the page has no place for it.
    """
    if not _PART.search(page):
        raise ValueError("the page has no part <!-- measured: gate quality --> ... <!-- end -->")
    return _PART.sub(lambda _: f"\n{part}\n\n", page)
