"""JSON bit by bit: the same values as at once, the right line of a fault, and little memory."""

from __future__ import annotations

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.data import json_stream
from skillopt.data.json_stream import JsonProblem, JsonStream, decode_value
from skillopt.types import JsonValue

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=8,
)


class Trickle(io.StringIO):
    """A file that gives few characters at a time, so that every boundary falls somewhere."""

    def read(self, size: int | None = -1, /) -> str:
        return super().read(min(size, 3) if size and size > 0 else size)


@given(st.lists(values, max_size=5), st.sampled_from([None, 1]), st.booleans())
def test_a_list_read_in_drops_is_the_list(elements: list[JsonValue], indent: int | None, escaped: bool) -> None:
    text = json.dumps(elements, indent=indent, ensure_ascii=escaped)
    assert [value for _, value in JsonStream(Trickle(text)).array()] == elements


@given(st.dictionaries(st.text(max_size=5), values, max_size=4))
def test_an_object_read_in_drops_is_the_object(document: dict[str, JsonValue]) -> None:
    stream = JsonStream(Trickle(json.dumps(document, indent=1)))
    assert {key: stream.value() for _, key in stream.entries()} == document


def test_elements_know_their_lines() -> None:
    assert [line for line, _ in JsonStream(io.StringIO('[\n{},\n\n{"a":\n1},{}]')).array()] == [2, 4, 5]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('[{},\n{"a": nope}]', 2),
        ('[{},\n{"a": 1,}]', 2),
        ("[{}\n{}]", 2),
        ("[{},\n", 2),
        ('[{},\n{"a": "x', 2),
        ('[\n{"a": NaN}]', 2),
        ('[\n{"a": -Infinity}]', 2),
        ('[\n{"a": 1, "a": 2}]', 2),
        ('[\n{"a": "\\x"}]', 2),
        ("[\n" + "[" * 5000, 2),
        ("[\n" + "[" * 150 + "]" * 150 + "]", 2),
        ("[" + "9" * 5000 + "]", 1),
    ],
)
def test_a_fault_has_its_line(text: str, line: int) -> None:
    for file in (io.StringIO(text), Trickle(text)):
        with pytest.raises(JsonProblem) as caught:
            list(JsonStream(file).array())
        assert caught.value.line == line


def test_a_list_takes_the_memory_of_one_element() -> None:
    """Large files are read in a stream."""

    class Endless(io.StringIO):
        given = 0

        def read(self, size: int | None = -1, /) -> str:
            self.given += 1
            return '{"a": "b"},' * 5000 if self.given > 1 else "["

    stream = JsonStream(Endless())
    elements = stream.array()
    for _ in range(30_000):
        next(elements)
    assert len(stream._buffer) < 200_000  # pyright: ignore[reportPrivateUsage]


def test_a_fault_far_ahead_of_the_end_is_found_without_reading_on() -> None:
    class Broken(io.StringIO):
        reads = 0

        def read(self, size: int | None = -1, /) -> str:
            self.reads += 1
            return '[{"a": oops}' + " " * 1000 if self.reads == 1 else " " * 1000

    file = Broken()
    with pytest.raises(JsonProblem):
        list(JsonStream(file).array())
    assert file.reads == 1


@pytest.mark.parametrize("text", ["", "{", '{"a":1} x', "nope", "NaN", '{"a":1,"a":1}', "[" * 5000, "9" * 5000])
def test_a_line_that_is_no_value_is_refused(text: str) -> None:
    with pytest.raises(JsonProblem):
        decode_value(text)


def test_the_depth_that_is_allowed_can_still_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "_DEEPEST", 2)
    assert decode_value("[1]") == [1]
    with pytest.raises(JsonProblem, match="more than 2 levels"):
        decode_value("[[[1]]]")
