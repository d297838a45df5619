"""The table of `benchmarks/gate_quality` and its place in the page."""

from __future__ import annotations

import math

import pytest
from benchmarks.gate_quality.metrics import SHARES, Mean
from benchmarks.gate_quality.rows import BASE, ROWS
from benchmarks.gate_quality.table import PAGE, Table, overview, page_with, with_error

MEASURES = {
    **{f"gain {share:.0%}": 40.0 for share in SHARES}, "gain": 40.0, "reported": 42.0, "overstated": 2.0,
    "target calls": 800, "optimizer calls": 90, "harmful kept": 1,
    **{f"{kind} {what}": 1 for kind in ("useful", "useless", "harmful") for what in ("accepted", "judged")},
}  # fmt: skip


def test_a_row_shows_its_gains_and_what_they_are_against_the_base_row() -> None:
    better = {**MEASURES, "gain 50%": 43.0, "gain 100%": 41.0, "useless judged": 4, "harmful judged": 0}
    table = Table("toy", {BASE: [MEASURES, MEASURES], "other": [better, {**better, "gain 50%": 45.0}]})
    *_, base, other = table.markdown().splitlines()
    assert base.startswith(f"| {BASE} | 40.0 ± 0.0 | 40.0 ± 0.0 | 40.0 ± 0.0 |  |  | 2.0 ± 0.0 |")
    assert other == (
        "| other | 40.0 ± 0.0 | 44.0 ± 1.0 | 41.0 ± 0.0 | +4.0 ± 1.0 | +1.0 ± 0.0 | 2.0 ± 0.0 "
        "| 100 % | 25 % |  | 1.00 ± 0.00 | 800 | 90 |"
    )
    assert overview([table]).splitlines()[2:] == ["| other | +1.0 ± 0.0 |"]


def test_the_rows_of_a_table_can_be_compared_with_any_of_them() -> None:
    worse = {**MEASURES, "gain 100%": 30.0}
    table = Table("toy", {BASE: [MEASURES], "whole": [MEASURES], "part": [worse]}).of(
        ("whole", "part", "x"), base="whole"
    )
    assert "against whole, 100 %" in table.markdown()
    assert BASE not in table.markdown()
    assert overview([table]).splitlines()[2:] == ["| part | -10.0 |"]


@pytest.mark.parametrize(
    ("mean", "shown"),
    [(Mean(2.04, 0.26), "+2.0 ± 0.3"), (Mean(-0.04, math.nan), "+0.0"), (Mean(-3.0, 1.0), "-3.0 ± 1.0")],
)
def test_a_mean_is_shown_with_sign_and_standard_error(mean: Mean, shown: str) -> None:
    assert with_error(mean, signed=True) == shown


def test_the_page_has_a_place_for_the_table_and_says_that_all_of_it_is_simulated() -> None:
    page = PAGE.read_text(encoding="utf-8")
    written = page_with(page, "THE TABLE \\1")
    assert "\nTHE TABLE \\1\n" in written
    assert page_with(written, "OTHER") == page_with(page, "OTHER")
    assert "simulated" in page.partition("<!-- measured")[0]
    with pytest.raises(ValueError, match="no part"):
        page_with("nothing", "THE TABLE")


def test_the_table_on_the_page_has_a_line_for_every_row() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [name for name in ROWS if f"\n| {name} | " not in page] == []
