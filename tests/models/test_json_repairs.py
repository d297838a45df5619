"""A repair mends punctuation and nothing else."""

from __future__ import annotations

import sys
from types import FrameType

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
        ('{"a":"# one // two, http://x/y /* z",}', {"a": "# one // two, http://x/y /* z"}),
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


@pytest.mark.parametrize(
    "unit",
    [
        '"a"//',
        '"a"#',
        "/*",
        '"a" b',
        "'a':",
        '"a\\',
        "{",
        '"a"\n',
        '["one", "two"ng_ra: ',
        '"a"b: [',
        '"a", "b"c: ["d", ',
    ],
)
def test_the_work_grows_with_the_length_and_no_faster(unit: str) -> None:
    """Replies of 40 kB, with comment marks or lists that never end, took minutes."""

    def calls(length: int) -> int:
        counted = 0

        def count(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal counted
            counted += event in ("call", "c_call")

        sys.setprofile(count)
        try:
            repair("{" + unit * (length // len(unit)) + "}")
        finally:
            sys.setprofile(None)
        return counted

    repair("{,}")  # loads the library
    assert calls(8000) < 600 * 8000 + 1_000_000


def test_a_long_reply_with_small_damage_is_mended() -> None:
    """The bound of the work is far above what a whole skill with quotes and links in it takes."""
    line = r"""- use 5\" nails (see [docs](http://x/y)), \"quoted\" and 'so' # one\n"""
    text = '{"new_skill": "' + line * 300 + '", "reasoning": "r",}'
    mended = repair(text)
    assert isinstance(mended, dict)
    assert str(mended["new_skill"]).count("nails") == 300
    assert type(mended["new_skill"]) is str
