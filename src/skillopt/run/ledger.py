"""The ledger: a row for each call, from the payments that are written down and from what the run used.

Its sums are those of the reports. The rows that were used come to `total_usage` in summary.json, by role, stage, epoch
and step; the rows that were paid come to the bill. What was paid and not used was of no use (a blank reply that was
asked for again, an answer that broke off, a call that a kill or a limit cut off from its record), or belongs to an
evaluation beside the run.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from skillopt.models.meter import Payment
from skillopt.run.accounts import OUTSIDE_OF_A_RUN, Use
from skillopt.types import Place, Role, Usage

_KEY_LENGTH = 16

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
        source: "paid" by some start on this directory, or "evidence" that came from elsewhere and cost nothing here.
        used: Whether the run used it.
        usage: Calls (1, or those of one record that came from elsewhere) and tokens.
        dollars: Its price, also of what cost nothing here; None where it is unknown.
        retries: Attempts of the same request that failed before it.
        key: Of the reply or rollout; the first 16 digits are shown.
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
        payments: All that were ever made on the run's evidence.
        uses: What the run used.
    """
    paid = tuple(payments)
    of_use = {row.key: row for row in uses}
    answered = {payment.key for payment in paid if _counts(payment)}
    rows = [_paid_row(payment, of_use.get(payment.key)) for payment in paid]
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


def _counts(payment: Payment) -> bool:
    return payment.useful and payment.place.stage not in OUTSIDE_OF_A_RUN


def _paid_row(payment: Payment, use: Use | None) -> LedgerRow:
    used = use is not None and _counts(payment)
    place = use.place if use is not None and used else payment.place
    return LedgerRow(payment.role, place, "paid", used, payment.usage, payment.dollars, payment.retries, payment.key)


def _in_the_order_of_the_run(row: LedgerRow) -> tuple[object, ...]:
    place = row.place
    return (place.step, place.epoch, place.stage, row.role, place.index, place.attempt, row.key, row.used, row.retries)


def _cells(row: LedgerRow) -> Iterator[object]:
    place, usage = row.place, row.usage
    yield from (row.role, place.stage, place.epoch, place.step, place.index, place.attempt)
    yield from (row.source, "yes" if row.used else "no", usage.calls)
    yield from (usage.fresh_tokens, usage.cached_tokens, usage.output_tokens)
    yield from ("" if row.dollars is None else row.dollars, row.retries, row.key[:_KEY_LENGTH])
