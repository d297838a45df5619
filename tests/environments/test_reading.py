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
