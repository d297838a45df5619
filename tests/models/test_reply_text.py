"""One JSON value out of a raw reply, or a reason why there is none."""

from __future__ import annotations

import contextlib
import json
import sys
from types import FrameType
from typing import Any

import pytest

from skillopt.errors import UnusableReplyError
from skillopt.models.reply_text import MOST_CHARACTERS, JsonReading, read_json
from skillopt.types import JsonValue


def refusal(text: str) -> str:
    with pytest.raises(UnusableReplyError) as caught:
        read_json(text)
    return caught.value.message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('\ufeff\r\n {"a": 1}\r\n', {"a": 1}),
        ('Here it is: {"a": {"b": [1, "}"]}}. Good luck!', {"a": {"b": [1, "}"]}}),
        ('{"a": "\\"{["}', {"a": '"{['}),
        ('Set {name} and {{x}} so: {"a": 1}', {"a": 1}),
        ("The answer is [3] or [a, b].", [3]),
        ('On [0, 1) see [2] and {"a": [0]}', {"a": [0]}),
        ("{}", {}),
        ('Use {} for nothing. {"a": 1}', {"a": 1}),
        ('[{"a":1}]', [{"a": 1}]),
        ('<answer>{"a": 1}</answer>', {"a": 1}),
        ('{"a": 1} and once more {"a":1}', {"a": 1}),
    ],
)
def test_a_bare_value_is_found_in_prose(text: str, value: JsonValue) -> None:
    assert read_json(text) == JsonReading(value)


@pytest.mark.parametrize("mark", ["```", "~~~", "````"])
@pytest.mark.parametrize("info", ["", "json", "JSON", "plaintext", "jsonc", " Json ", "c++", "x.y"])
@pytest.mark.parametrize("body", ['{"a": [1]}', '[{"a": 1}, 2]', "[]"])
def test_a_fence_of_any_kind_is_no_part_of_the_value(mark: str, info: str, body: str) -> None:
    """F48: a language tag, in any case, is not read as text; a fenced list is a list."""
    value = json.loads(body)
    for end in (f"\n{mark}", f"{mark}", ""):
        for start in ("\n", "\r\n", "\n\n  ", " "):
            assert read_json(f"Sure.\n{mark}{info}{start}{body}{end}\nDone.") == JsonReading(value)


def test_a_fence_inside_a_string_is_text() -> None:
    text = '{"content": "Use\\n```python\\nprint({})\\n```\\n"}'
    assert read_json(f"```json\n{text}\n```").value == {"content": "Use\n```python\nprint({})\n```\n"}


def test_what_is_fenced_goes_before_what_is_bare() -> None:
    assert read_json('Not {"a": 0} but\n```json\n{"a": 1}\n```\nor {"a": 2}').value == {"a": 1}


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1} {"b": 2}',
        '{"a": 1}\n{"a": 2}\n',
        '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```',
        '{"a": 1} {"b": 2,}',
        "[1] [2]",
    ],
)
def test_two_different_values_are_ambiguous(text: str) -> None:
    assert refusal(text) == "the reply holds 2 JSON values where one is asked for"


@pytest.mark.parametrize("tag", ["think", "thinking", "reasoning", "THINK", 'thinking budget="9"'])
def test_reasoning_is_left_out(tag: str) -> None:
    end = tag.split()[0]
    assert read_json(f'<{tag}>maybe {{"a": 0}}\n```\n{{"a"</{end}>\n{{"a": 1}}').value == {"a": 1}
    assert read_json(f'maybe {{"a": 0}}</{end}>{{"a": 1}}').value == {"a": 1}, "the opening tag is in the prompt"


def test_a_reasoning_tag_inside_a_string_is_text() -> None:
    assert read_json('{"a": "write <think> and </think>"}').value == {"a": "write <think> and </think>"}
    assert read_json('{"a": "never write <think>"}').value == {"a": "never write <think>"}


@pytest.mark.parametrize(
    "text", ["<think>I will...", '<think>{"a": 1}', '{"a": 1}<reasoning>', "<think></think><THINK>"]
)
def test_an_unclosed_reasoning_block_is_no_proposal(text: str) -> None:
    """F49: what was cut inside its reasoning is never taken for an answer."""
    assert refusal(text) == "the reply ends inside its reasoning"


def test_a_reply_of_reasoning_only_says_so() -> None:
    assert refusal('<think>{"a": 1}</think>\n') == "the reply holds no JSON value outside its reasoning"
    assert refusal("I would rather not.") == "the reply holds no JSON value"
    assert refusal("{op: delete}") == "the reply holds no JSON value"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"edits":[{"op":"append","content":"a"},]}', {"edits": [{"op": "append", "content": "a"}]}),
        ('```json\n{"a":"他说"你好"了"}\n```', {"a": '他说"你好"了'}),
        ("Yes: {'a': 'b'}.", {"a": "b"}),
        ('{"a": "one\ntwo\tthree"}', {"a": "one\ntwo\tthree"}),
        ('{"a": "use 5" nails", "b": 1} Hope this helps!', {"a": 'use 5" nails', "b": 1}),
    ],
)
def test_small_damage_is_repaired_and_told(text: str, value: JsonValue) -> None:
    """F45: the reply is not lost, and it shows that it was repaired."""
    assert read_json(text) == JsonReading(value, repaired=True)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": NaN}', "NaN"),
        ('{"a": -Infinity}', "-Infinity"),
        ('{"a": 1e999}', "1e999"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "'c' occurs twice"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a" 1}', "line 1 column 6"),
        ('{"a": 1}}', "do not match"),
        ('{"a": [1, 2}', "do not match"),
        ('{"a": "use "}" here', "do not match"),
        ('{"a": "use "}" here"}', "do not match"),
        ('{"a": [1, {"b": "c', "do not match"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
    ],
)
def test_what_cannot_be_read_for_sure_is_refused_with_its_reason(text: str, reason: str) -> None:
    message = refusal(text)
    assert message.startswith("the reply's JSON cannot be read: ")
    assert reason in message


def test_size_and_nesting_are_bounded() -> None:
    assert "nested deeper than 64" in refusal('{"a":' * 65 + "1" + "}" * 65)
    assert read_json('{"a":' * 64 + "1" + "}" * 64)
    assert f"at most {MOST_CHARACTERS}" in refusal(" " * (MOST_CHARACTERS + 1))


HOSTILE = [
    "{",
    "[",
    '{"',
    "[1,",
    '"',
    "```",
    "<think>",
    "</think>",
    "{ ",
    "[1 ]",
    "{'",
    '{"a":1}"\n```\n',
    '{"a"]',
    '{"a\n```\n',
    "\\",
    "<think",
    '{"a":1} ',
    "[" + " " * 50,
]


def steps_of_reading(text: str) -> int:
    """Count the calls, of Python and of C, that reading takes."""
    steps = 0

    def count(_frame: FrameType, _event: str, _argument: Any) -> None:
        nonlocal steps
        steps += 1

    sys.setprofile(count)
    try:
        read_json(text)
    except UnusableReplyError:
        pass
    finally:
        sys.setprofile(None)
    return steps


@pytest.mark.parametrize("piece", HOSTILE)
def test_reading_takes_steps_in_proportion_to_the_text(piece: str) -> None:
    count = 8000 // len(piece)
    once, twice = (steps_of_reading(piece * times) for times in (count, 2 * count))
    assert twice <= 2.2 * once + 100


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_megabyte_of_garbage_comes_to_an_end(piece: str) -> None:
    with contextlib.suppress(UnusableReplyError):
        read_json(piece * (1_000_000 // len(piece)))
