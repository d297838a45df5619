"""Laws of reading replies: whatever comes in, a value or our own error comes out, and nothing is invented."""

from __future__ import annotations

import contextlib
import json
import re

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from skillopt.digests import canonical_json
from skillopt.errors import UnusableReplyError
from skillopt.models.reply_text import JsonReading, read_json
from skillopt.types import JsonValue

PIECES = [
    *"{}[]:,\"'\\`~<>/ \n“”",
    "```json\n",
    "\n```",
    "~~~",
    "<think>",
    "</think>",
    '{"a":',
    '"b"}',
    "\\u12",
    "\\ud800",
    "NaN",
    "1e999",
    "null",
    "true",
    "-1.5",
    "你好",
    "//",
    '{"edits": [{"op": "append", "content": "x"}]}',
]
GARBAGE = st.text() | st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join)

LEAVES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20)
)
VALUES: st.SearchStrategy[JsonValue] = st.recursive(
    LEAVES | st.sampled_from(PIECES),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, min_size=1, max_size=4)
WORD = st.text(alphabet="abc é你", min_size=1).map(str.strip).filter(bool)
WORDS = st.text(alphabet="abc .,;:!?\n", max_size=30)


@given(GARBAGE)
@example("{" * 5000)
@example('{"a": "x "}')
@example('{"a":"\ud800",}')
def test_garbage_is_a_value_or_our_own_error(text: str) -> None:
    with contextlib.suppress(UnusableReplyError):
        canonical_json(read_json(text).value).encode("utf-8")


@given(OBJECTS, WORDS, WORDS, st.booleans(), st.sampled_from([None, 2]))
def test_an_object_is_found_exactly_as_it_was_meant(
    value: dict[str, JsonValue], before: str, after: str, escaped: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=escaped, indent=indent)
    assert read_json(f"{before}\n{text}\n.{after}") == JsonReading(value)


@given(VALUES.filter(lambda value: isinstance(value, dict | list)), st.sampled_from(["```", "~~~", "```json"]), WORDS)
def test_a_fenced_value_is_found_exactly_as_it_was_meant(value: JsonValue, fence: str, around: str) -> None:
    text = f"{around}\n{fence}\n{json.dumps(value)}\n{fence[:3]}\n{around}"
    assert read_json(text) == JsonReading(value)


@given(OBJECTS, st.data())
def test_what_is_cut_is_never_read_as_whole(value: dict[str, JsonValue], data: st.DataObject) -> None:
    """F49: no beginning of an object is taken for an object that was meant.

    What stands behind the end of a reasoning block is read for itself, also where a text within the object has one.
    """
    text = json.dumps(value)
    assume(not re.search(r"</(think|reasoning)", text, re.IGNORECASE))
    end = data.draw(st.integers(0, len(text) - 1))
    with pytest.raises(UnusableReplyError):
        read_json(text[:end])


@given(OBJECTS)
def test_a_trailing_comma_changes_nothing_but_the_mark_of_a_repair(value: dict[str, JsonValue]) -> None:
    """F45: it is mended, or refused where other texts in the object make it unclear."""
    text = json.dumps(value)[:-1] + ",}"
    with contextlib.suppress(UnusableReplyError):
        assert read_json(text) == JsonReading(value, repaired=True)


@given(st.dictionaries(WORD, WORD | st.integers() | st.lists(WORD, min_size=1), min_size=1))
def test_a_trailing_comma_in_a_plain_object_is_always_mended(value: dict[str, JsonValue]) -> None:
    """F45."""
    text = json.dumps(value).replace("]", ",]")[:-1] + ",}"
    assert read_json(text) == JsonReading(value, repaired=True)


@given(OBJECTS, st.data())
def test_a_repair_never_invents_a_text(value: dict[str, JsonValue], data: st.DataObject) -> None:
    """Damage one place: every text that is read stands in the reply."""
    text = json.dumps(value, ensure_ascii=False)
    place = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:place] + data.draw(st.sampled_from(PIECES)) + text[place + data.draw(st.integers(0, 1)) :]
    try:
        read = read_json(damaged).value
    except UnusableReplyError:
        return
    plain = damaged.replace("\\\\", "\\")
    assert all(not leaf.isalnum() or leaf in plain for leaf in _texts(read))


def _texts(value: JsonValue) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for key, member in value.items() for text in (key, *_texts(member))]
    return [text for item in value for text in _texts(item)] if isinstance(value, list) else []
