"""The ledger: a row for each call, from the payments that are written down and from what the run used.

Its sums are those of the reports. The rows that were used come to `total_usage` in summary.json, by role, stage, epoch
and step; the rows that were paid come to the bill. What was paid and not used was of no use (a blank reply that was
asked for again, an answer that broke off, a call cut off from its record or paid again for a lost one) or belongs to an
evaluation beside the run.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from skillopt.models.meter import Payment
from skillopt.run.accounts import OUTSIDE_OF_A_RUN, Use
from skillopt.types import Place, Role, Usage

_KEY_LENGTH = 16

_Paid: TypeAlias = tuple[Role, str | tuple[Place, Usage]]
"""Who was paid, and for what: a key or, where that is not known, where and how much."""

COLUMNS = (
    *("role", "stage", "epoch", "step", "index", "attempt", "source", "used", "calls"),
    *("fresh_tokens", "cached_tokens", "output_tokens", "dollars", "retries", "key"),
)
"""The columns of ledger.csv."""


@dataclass(frozen=True, slots=True)
class LedgerRow:
    """One call.

    Attributes:
        role: Target or optimizer.
        place: Where the run used it first or, where it did not, what it was paid for.
        source: "paid" by some start on this directory, or "evidence" that came from elsewhere and cost nothing here, or
            whose payments are lost.
        used: Whether the run used it.
        usage: Calls (1, or those of one record that came from elsewhere) and tokens.
        dollars: Its price, also of what cost nothing here; None where it is unknown.
        retries: Attempts of the same request that failed before it.
        key: Of the reply or rollout, "" where it is not known; the first 16 digits are shown.
    """

    role: Role
    place: Place
    source: Literal["paid", "evidence"]
    used: bool
    usage: Usage
    dollars: float | None
    retries: int
    key: str


def ledger(payments: Iterable[Payment], uses: Sequence[Use]) -> tuple[LedgerRow, ...]:
    """Return the rows, in the order of the run and not of the clock.

    Args:
        payments: All that were ever made on the run's evidence, oldest first.
        uses: What the run used.
    """
    paid = tuple(payments)
    used_by = _used_by(paid, uses)
    answered = {use.key for use in used_by.values()}
    rows = [_paid_row(payment, used_by.get(number)) for number, payment in enumerate(paid)]
    rows += [
        LedgerRow(use.role, use.place, "evidence", True, use.usage, use.dollars, 0, use.key)
        for use in uses
        if use.key not in answered
    ]
    return tuple(sorted(rows, key=_in_the_order_of_the_run))


def ledger_csv(rows: Iterable[LedgerRow]) -> str:
    """Return the ledger as the text of a CSV file, with a header and lines that end in a newline."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(list, map(_cells, rows)))
    return text.getvalue()


def _used_by(paid: Sequence[Payment], uses: Sequence[Use]) -> dict[int, Use]:
    """Return which payments made the record that was used, by their number.

    A record that was lost was paid again: of all payments for it, the last that come to what it says made it. Where
    none do, nobody knows who paid.
    """
    numbers: defaultdict[_Paid, list[int]] = defaultdict(list)
    for number, payment in enumerate(paid):
        if payment.useful and payment.place.stage not in OUTSIDE_OF_A_RUN:
            numbers[payment.role, payment.key or _as_of_old(payment)].append(number)
    used_by: dict[int, Use] = {}
    for use in reversed(uses):
        for what in (use.key, _as_of_old(use)):
            left = numbers[use.role, what]
            taken = _last_that_come_to(use.usage, [paid[number].usage for number in left])
            if taken:
                used_by.update(dict.fromkeys(left[-taken:], use))
                del left[-taken:]
                break
    return used_by


def _as_of_old(row: Payment | Use) -> tuple[Place, Usage]:
    """Return what a payment of the oldest format is known by, which did not tell what it was for."""
    # A rollout's payment has its repeat for an attempt, and its use has none.
    return replace(row.place, attempt=0), row.usage


def _last_that_come_to(total: Usage, amounts: Sequence[Usage]) -> int:
    """Return how many of the last amounts have this total; 0 where none do."""
    found = Usage()
    for taken, usage in enumerate(reversed(amounts), start=1):
        found += usage
        if found == total:
            return taken
    return 0


def _paid_row(payment: Payment, use: Use | None) -> LedgerRow:
    place, key = (payment.place, payment.key) if use is None else (use.place, use.key)
    used = use is not None
    return LedgerRow(payment.role, place, "paid", used, payment.usage, payment.dollars, payment.retries, key)


def _in_the_order_of_the_run(row: LedgerRow) -> tuple[object, ...]:
    place = row.place
    return (place.step, place.epoch, place.stage, row.role, place.index, place.attempt, row.key, row.used, row.retries)


def _cells(row: LedgerRow) -> Iterator[object]:
    place, usage = row.place, row.usage
    yield from (row.role, place.stage, place.epoch, place.step, place.index, place.attempt)
    yield from (row.source, "yes" if row.used else "no", usage.calls)
    yield from (usage.fresh_tokens, usage.cached_tokens, usage.output_tokens)
    yield from ("" if row.dollars is None else row.dollars, row.retries, row.key[:_KEY_LENGTH])
