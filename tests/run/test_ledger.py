"""The ledger: a row for each call, and sums that are the reports'."""

from __future__ import annotations

import csv
import io

from hypothesis import given
from hypothesis import strategies as st

from skillopt.models.meter import Payment
from skillopt.run.accounts import Use
from skillopt.run.ledger import COLUMNS, LedgerRow, ledger, ledger_csv
from skillopt.types import Place, Usage

GATE, TEST = Place("gate", 1, 2), Place("test", 1, 9)


def paid(key: str, place: Place = GATE, *, useful: bool = True, calls: int = 1) -> Payment:
    return Payment("target", place, Usage(calls, 10, 20, 30), 0.5, key=key, useful=useful)


def use(key: str, place: Place = GATE) -> Use:
    return Use("target", place, key, Usage(1, 10, 20, 30), 0.5)


def sources(rows: tuple[LedgerRow, ...]) -> list[tuple[str, str, bool]]:
    return [(row.key, row.source, row.used) for row in rows]


def test_what_was_paid_and_used_is_one_row_at_the_place_that_used_it_first() -> None:
    (row,) = ledger([paid("a", TEST)], [use("a", GATE)])
    assert (row.place, row.source, row.used) == (GATE, "paid", True)


def test_what_came_from_elsewhere_is_evidence() -> None:
    assert sources(ledger([], [use("a")])) == [("a", "evidence", True)]


def test_what_was_of_no_use_is_paid_and_not_used() -> None:
    rows = ledger([paid("a", useful=False), paid("a"), paid("lost", useful=False)], [use("a")])
    assert sources(rows) == [("a", "paid", False), ("a", "paid", True), ("lost", "paid", False)]


def test_what_an_evaluation_paid_is_evidence_for_the_run() -> None:
    rows = ledger([paid("a", Place("eval"))], [use("a")])
    assert sources(rows) == [("a", "paid", False), ("a", "evidence", True)]


KEYS = st.sampled_from("abcd")
PLACES = st.sampled_from([GATE, TEST, Place("eval")])


@given(
    st.lists(st.builds(paid, KEYS, PLACES, useful=st.just(False)), max_size=6),
    st.lists(st.builds(paid, KEYS, PLACES), max_size=4, unique_by=lambda payment: payment.key),
    st.lists(st.builds(use, KEYS), max_size=4, unique_by=lambda use: use.key),
)
def test_its_sums_are_the_bill_and_what_was_used(
    useless: list[Payment], useful: list[Payment], uses: list[Use]
) -> None:
    """F122: for any mixture of calls."""
    rows = ledger([*useless, *useful], uses)
    assert sum((row.usage for row in rows if row.source == "paid"), Usage()) == sum(
        (payment.usage for payment in (*useless, *useful)), Usage()
    )
    assert sum((row.usage for row in rows if row.used), Usage()) == sum((use.usage for use in uses), Usage())


@given(st.permutations([paid("a"), paid("b", TEST), paid("c", useful=False), paid("c")]))
def test_its_order_is_the_runs_and_not_the_clocks(payments: list[Payment]) -> None:
    uses = [use("a"), use("b", TEST), use("c")]
    assert ledger_csv(ledger(payments, uses)) == ledger_csv(ledger(sorted(payments, key=str), uses))


def test_as_a_file_it_has_a_header_and_an_unknown_price_is_empty() -> None:
    unknown = LedgerRow("optimizer", GATE, "paid", True, Usage(1, 10, 20, 30), None, 2, "k" * 64)
    header, row = csv.reader(io.StringIO(ledger_csv([unknown])))
    assert tuple(header) == COLUMNS
    values = dict(zip(header, row, strict=True))
    assert (values["stage"], values["dollars"], values["retries"], values["used"]) == ("gate", "", "2", "yes")
    assert values["key"] == "k" * 16
