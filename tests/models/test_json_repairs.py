"""A repair mends punctuation and nothing else."""

from __future__ import annotations

import pytest

from skillopt.models.json_repairs import MOST_REPAIRED_CHARACTERS, repair
from skillopt.types import JsonValue


@pytest.mark.parametrize(
    ("damaged", "meant"),
    [
        ('{"edits":[{"op":"append","content":"a"},]}', {"edits": [{"op": "append", "content": "a"}]}),
        ('{"规则":"他说"你好"了"}', {"规则": '他说"你好"了'}),
        ('{"a":"他说："好，的"。", "b":"c"}', {"a": '他说："好，的"。', "b": "c"}),  # noqa: RUF001
        ('{"a":"use 5" nails","b":1}', {"a": 'use 5" nails', "b": 1}),
        ("{'a': 'b', 'c': [1, -2.5e3, True, None]}", {"a": "b", "c": [1, -2500.0, True, None]}),
        ('{"a": "it\\\'s"}', {"a": "it's"}),
        ("{“a”: “b”}", {"a": "b"}),
        ('{"a":"x" "b":2}', {"a": "x", "b": 2}),
        ('{"a":"\\alpha, \\u00e9\\n",}', {"a": "\\alpha, é\n"}),
        ('{"a":"one\\n\\ntwo\\n\\n","b":"three\n",}', {"a": "one\n\ntwo\n\n", "b": "three\n"}),
    ],
)
def test_small_damage_is_mended(damaged: str, meant: JsonValue) -> None:
    """F45: a trailing comma or a bare quote does not cost the whole reply."""
    assert repair(damaged) == meant


@pytest.mark.parametrize(
    "damaged",
    [
        "{op: delete}",  # words without quotes: key or prose?
        '{"a": tru}',
        '{"a": NaN}',
        '{"a" 1}',  # the library would drop the 1
        '{"a": }',  # the library would invent ""
        '{"a": 1, "a": 2,}',  # one of two equal keys would be lost
        '{"a": [1, 2',  # who knows what came after
        '{"a": "x',
        '{"a": 1}}',
        '{"a": 1,} {"b": 2}',
        '{"a": 1, // a comment\n}',
        '{"a": 1, and so on}',
        '{"a": 1.5.2,}',
        '{"a": "\\ud83d\\ude00",}x',
        "",
        "prose",
        '["a",]',
        '{"content": "use "}" here"}',  # the library would keep `use ` only
    ],
)
def test_a_repair_that_would_invent_or_lose_is_refused(damaged: str) -> None:
    assert repair(damaged) is None


def test_a_huge_damaged_object_is_not_repaired() -> None:
    assert repair('{"a":"' + "x" * MOST_REPAIRED_CHARACTERS + '",}') is None


def test_true_is_not_mistaken_for_one_nor_a_float_for_a_whole_number() -> None:
    repaired = repair('{"a": true, "b": 1, "c": 1.0,}')
    assert isinstance(repaired, dict)
    assert [type(value) for value in repaired.values()] == [bool, int, float]


def test_deep_nesting_is_refused_rather_than_followed() -> None:
    assert repair('{"a":' * 70 + "1" + ",}" * 70) is None
    assert repair('{"a":' * 5000 + "1" + ",}" * 5000) is None
