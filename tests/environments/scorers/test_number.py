from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from skillopt.environments.scorers.number import DecimalMark, Number, Quantity, last_number
from skillopt.errors import DataError
from skillopt.types import JsonValue, Score, Task, Trajectory


def scored(predicted: str, answer: JsonValue, **options: Any) -> Score:
    scorer, task = Number(**options), Task("1", {"answer": answer})
    scorer.check(task)
    return scorer.score(predicted, task, Trajectory((), predicted))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("18", "18"), ("-3", "-3"), ("\u22127", "-7"), ("+4", "4"), (".5", "1/2"), ("18.", "18"), ("007", "7"),
        ("1,234.50", "1234.5"), ("1.234,50", "1234.5"), ("1.234.567", "1234567"), ("1,234,567 people", "1234567"),
        ("1'234", "1234"), ("1\u202f234", "1234"), ("1\u00a0234,5 kg", "5"), ("1_000", "1000"), ("1{,}234", "1234"),
        ("$18", "18"), ("-$5", "-5"), ("$-5", "-5"), ("$ 1,200", "1200"), ("18 dollars", "18"), ("50%", "50"),
        ("3/4", "3/4"), ("1 1/2", "3/2"), ("\u00bd", "1/2"), ("2\u00bd", "5/2"), ("\\frac{3}{4}", "3/4"),
        ("-\\frac{3}{4}", "-3/4"), ("2\\dfrac{1}{2}", "5/2"),
        ("1.2e3", "1200"), ("1.2E-3", "0.0012"), ("1.2 \u00d7 10^3", "1200"), ("1.2 \\times 10^{3}", "1200"),
        ("1.2\u00d710\u2075", "120000"), ("10^6", "1000000"), ("10\u2076", "1000000"), ("10**-2", "0.01"),
        ("3 - 5", "5"), ("3-5", "5"), ("F-16", "16"), ("2024-03-05", "5"), ("03/05/2024", "2024"),
        ("first 3, then 4, so 7 apples.", "7"), ("**18**", "18"), ("\\boxed{18}", "18"), ("x=5", "5"), ("m 5 m2", "5"),
        ("\u7b54\u6848\u662f-42\u4e2a", "-42"), ("\u0663", "3"), ("\uff11\uff12", "12"), ("5 / 0", "0"),
    ],
)  # fmt: skip
def test_the_last_number_is_read(text: str, value: str) -> None:
    quantity = last_number(text)
    assert quantity is not None
    assert quantity.value == Fraction(value)


@pytest.mark.parametrize("text", ["", "none", "v2.5", "CO2", "5/0", "9" * 5000, "eighteen"])
def test_what_is_no_number_is_none(text: str) -> None:
    assert last_number(text) is None


@pytest.mark.parametrize(
    ("text", "mark", "value"),
    [("3,5", "comma", "3.5"), ("1.234", "comma", "1234"), ("1.234", "point", "1.234"), ("1,234", "point", "1234"),
     ("1.234,50", "comma", "1234.5"), ("1,234.50", "comma", "1234.5")],
)  # fmt: skip
def test_the_decimal_mark_decides_what_alone_is_ambiguous(text: str, mark: DecimalMark, value: str) -> None:
    quantity = last_number(text, decimal_mark=mark)
    assert quantity is not None
    assert quantity.value == Fraction(value)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("5 km", "km"), ("5km/h", "km/h"), ("5 m\u00b2", "m2"), ("50 percent", "%"), ("$5", "$"), ("5 USD", "$"),
        ("5\u00b0C", "\u00b0C"), ("5 \u2103", "\u00b0C"),
        ("5", ""), ("5.", ""), ("5 \\text{ kg}", "kg"), ("5 \u043a\u043c", "\u043a\u043c"),
    ],
)  # fmt: skip
def test_a_unit_is_what_stands_beside_the_number(text: str, unit: str) -> None:
    assert last_number(text) == Quantity(Fraction(5 if "50" not in text else 50), unit)


def test_numbers_are_equal_exactly_whatever_their_form() -> None:
    assert scored("$18", "18").hard == 1
    assert scored("18.00", 18).hard == 1
    assert scored("3/4", 0.75).hard == 1
    assert scored("0.3", 0.1 + 0.2).hard == 0, "a gold with float noise is what the data says"
    assert scored("so 7", [5, 7]).hard == 1
    assert scored("17", "18").soft == 0.0


@pytest.mark.parametrize(
    ("options", "predicted", "hard"),
    [
        ({}, "10.1", 0),
        ({"tolerance": 0.1}, "10.1", 1),
        ({"tolerance": 0.1}, "9.9", 1),
        ({"tolerance": 0.1}, "10.11", 0),
        ({"relative_tolerance": 0.01}, "10.1", 1),
        ({"relative_tolerance": 0.01}, "10.11", 0),
        ({"tolerance": 0.5, "relative_tolerance": 0.01}, "10.5", 1),
    ],
)
def test_a_tolerance_is_exact_at_its_edge(options: dict[str, float], predicted: str, hard: int) -> None:
    assert scored(predicted, 10, **options).hard == hard


def test_units_are_ignored_matched_or_converted() -> None:
    table: dict[str, Any] = {"units": "convert", "unit_factors": {"m": 1.0, "km": 1000.0, "cm": 0.01}}
    assert scored("5 kg", "5 km").hard == 1
    assert scored("5 kg", "5 km", units="match").hard == 0
    assert scored("5 km", "5 km", units="match").hard == 1
    assert scored("5 km", "5", units="match").hard == 1, "no unit is expected"
    assert scored("18 dollars", "$18", units="match").hard == 1
    assert scored("5000 m", "5 km", **table).hard == 1
    assert scored("500000 cm", "5 km", **table).hard == 1
    assert scored("5000", "5 km", **table).hard == 1, "a missing unit has the factor 1"
    assert scored("5", "5 km", **table).hard == 0
    assert scored("5 miles", "5 km", **table).hard == 0
    assert scored("5 miles", "5 miles", **table).hard == 1
    assert scored("50%", "0.5", units="convert", unit_factors={"%": 0.01}).hard == 1
    assert scored("5.0004 km", "5 km", **table, tolerance=0.001).hard == 1, "the tolerance is in the gold's unit"
    assert scored("5.002 km", "5 km", **table, tolerance=0.001).hard == 0


def test_feedback_says_what_was_read() -> None:
    """F41"""
    assert scored("17", "18").feedback == "Expected '18'; the answer was '17'."
    assert scored("It costs 17 dollars", "$18").feedback == (
        "Expected '$18'; the answer was 'It costs 17 dollars' (read as 17 $)."
    )
    assert "the unit is 'm', not 'km'" in scored("5 m", "5 km", units="match").feedback
    assert "the unit 'km' is missing" in scored("5", "5 km", units="match").feedback
    assert "holds no number" in scored("many", "18").feedback
    assert "no answer was found" in scored("", "18").feedback
    assert "1e308" in scored("9e999", "18").feedback


@pytest.mark.parametrize("answer", ["many", True, ["18", "some"]])
def test_a_gold_without_a_number_is_an_error(answer: JsonValue) -> None:
    with pytest.raises(DataError, match="no number"):
        Number().check(Task("1", {"answer": answer}))


def test_the_rule_tells_the_tolerance() -> None:
    assert Number().rule == "its last number equals the expected one"
    rule = Number(tolerance=0.5, relative_tolerance=0.01, units="match").rule
    assert rule == "its last number equals the expected one within 0.5 or 0.01 of it, with its unit"
