from __future__ import annotations

import pytest

from skillopt.environments.reading import last, parse_json, read_json_object


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Here it is:\n```json\n{\n  "a": {"b": [1, 2]}\n}\n```\nDone.', {"a": {"b": [1, 2]}}),
        ('{"draft": 1} and then {"final": "a } in a text"}', {"final": "a } in a text"}),
        ('a set {1, 2} before {"a": null}', {"a": None}),
        ('{"a": 1} with a stray {', {"a": 1}),
        ('{"a": 1,}', None),
        ("{'a': 1}", None),
        ('{"a": NaN}', None),
        ("[1, 2]", None),
        ("", None),
    ],
)
def test_the_last_whole_object_is_read_and_none_is_mended(text: str, expected: object) -> None:
    assert read_json_object(text) == expected


def test_hostile_nesting_is_no_object_and_no_crash() -> None:
    assert read_json_object('{"a":' * 5000) is None


def test_nan_is_no_json() -> None:
    with pytest.raises(ValueError, match="NaN"):
        parse_json("[NaN]")
    assert parse_json("[1]") == [1]


def test_last_of_some_and_of_none() -> None:
    assert last(iter("abc")) == "c"
    assert last([]) is None


@pytest.mark.parametrize(
    "text",
    ["{" * 10**6, '{"' * 10**5, '{"a":' * 900 + "[1" + ",1" * 10**6, "\\frac{1}{2}" * 10**5, '{"a": "\\"' * 10**5],
    ids=["braces", "quotes", "deep", "formulas", "escapes"],
)
def test_a_text_without_an_object_costs_no_more_than_a_few_passes(text: str) -> None:
    """Each of these took minutes, and no clock could end it."""
    assert read_json_object(text) is None


def test_an_object_behind_many_formulas_is_found() -> None:
    assert read_json_object("\\frac{1}{2} { x } {} " * 10**4 + '{"a": 1} {') == {"a": 1}
