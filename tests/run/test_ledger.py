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
    return Payment("target", place, Usage(calls, 10 * calls, 20 * calls, 30 * calls), 0.5, key=key, useful=useful)


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


def test_a_record_that_was_lost_and_paid_again_was_made_by_the_last_payments() -> None:
    """Also where several calls make one record, as a harness with tools does."""
    half = Use("target", GATE, "b", Usage(2, 20, 40, 60), 1.0)
    rows = ledger([paid("a"), paid("b"), paid("b", TEST), paid("a", TEST), paid("b"), paid("b")], [use("a"), half])
    assert sorted(sources(rows)) == [
        *(("a", "paid", False), ("a", "paid", True)),
        *(("b", "paid", False), ("b", "paid", False), ("b", "paid", True), ("b", "paid", True)),
    ]


def test_payments_that_do_not_come_to_what_was_used_are_not_its() -> None:
    """Some of them were lost: who paid the record is not known any more."""
    rows = ledger([paid("a")], [Use("target", GATE, "a", Usage(2, 20, 40, 60), 1.0)])
    assert sources(rows) == [("a", "paid", False), ("a", "evidence", True)]


def test_payments_of_the_oldest_format_are_known_by_who_was_asked_where_and_how_much() -> None:
    repeat = Place("gate", 1, 2, attempt=1)
    payments = [paid("", repeat), paid("", GATE, calls=2), paid("", TEST)]
    rows = ledger(payments, [use("a"), use("b", Place("gate", 1, 3))])
    assert sorted(sources(rows)) == [
        *(("", "paid", False), ("", "paid", False)),
        *(("a", "paid", True), ("b", "evidence", True)),
    ]


KEYS = st.sampled_from(["a", "b", "c", ""])
PLACES = st.sampled_from([GATE, TEST, Place("eval")])


def used(key: str, place: Place, calls: int) -> Use:
    return Use("target", place, key, Usage(calls, 10 * calls, 20 * calls, 30 * calls), 0.5)


@given(
    st.lists(st.builds(paid, KEYS, PLACES, useful=st.booleans(), calls=st.integers(1, 2)), max_size=12),
    st.lists(
        st.builds(used, st.sampled_from("abcd"), PLACES, st.integers(1, 3)), max_size=4, unique_by=lambda use: use.key
    ),
)
def test_its_sums_are_the_bill_and_what_was_used(payments: list[Payment], uses: list[Use]) -> None:
    """F122: for any mixture of calls, several for one record and several recordings of it among them."""
    rows = ledger(payments, uses)
    assert sum((row.usage for row in rows if row.source == "paid"), Usage()) == sum(
        (payment.usage for payment in payments), Usage()
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
