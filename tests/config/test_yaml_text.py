"""The dialect of YAML: no traps, every key with its line, every fault with its place."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.config.yaml_text import read_document, read_value, write_document
from skillopt.errors import ConfigError, UsageError
from skillopt.types import JsonValue

FILE = Path("c.yaml")

texts = st.text(st.characters(codec="utf-8"), max_size=12)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3))


@settings(max_examples=50)
@given(st.dictionaries(texts, values, max_size=4))
def test_what_is_written_reads_back(document: dict[str, JsonValue]) -> None:
    text = write_document({"section": document})
    assert read_document(text, FILE).values == {"section": document}


@pytest.mark.parametrize("text", ["\x85", "a\u2028b", "\u2029", "a\ufeff", "\ufeff"])
def test_unusual_line_breaks_survive(text: str) -> None:
    assert read_document(write_document({"k": text, text: "v"}), FILE).values == {"k": text, text: "v"}


@given(texts)
def test_any_other_reader_sees_the_same_text(text: str) -> None:
    assert yaml.safe_load(write_document({"k": text})) == {"k": text}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2:1:7", "2:1:7"),
        ("1e-3", 0.001),
        ("1.5E+2", 150.0),
        (".5", 0.5),
        ("1_000", 1000),
        ("-3", -3),
        ("010", "010"),
        ("0x1F", "0x1F"),
        ("2026-01-02", "2026-01-02"),
        ("yes", True),
        ("Off", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("openai:gpt-5.5", "openai:gpt-5.5"),
        ("'8'", "8"),
        ("1.2.3", "1.2.3"),
        ("e3", "e3"),
    ],
)
def test_a_plain_word_means_one_thing_in_a_file_and_on_the_command_line(text: str, value: JsonValue) -> None:
    assert read_document(f"k: {text}", FILE).values == {"k": value}
    assert read_value(text) == value
    assert type(read_value(text)) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[a, 2, null]", ["a", 2, None]),
        ("{a: 1}", {"a": 1}),
        ('"a b"', "a b"),
        ("a=b=c", "a=b=c"),
        ("What is: x # y", "What is: x # y"),
        ("- x", "- x"),
        (".inf", ".inf"),
        ("&a", "&a"),
    ],
)
def test_a_value_of_the_command_line_may_hold_anything(text: str, value: JsonValue) -> None:
    assert read_value(text) == value


@pytest.mark.parametrize("text", ["[a", '"a', "{a: 1", "[" * 600, "[!!python/name:os.system x]"])
def test_half_a_list_on_the_command_line_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="not complete YAML"):
        read_value(text)


def test_every_key_has_its_line_and_is_the_text_that_was_written() -> None:
    document = read_document("a:\n  b: 1\n\n  50256: x\non: {c: 2}\n", FILE)
    assert document.values == {"a": {"b": 1, "50256": "x"}, "on": {"c": 2}}
    assert document.lines == {("a",): 1, ("a", "b"): 2, ("a", "50256"): 4, ("on",): 5, ("on", "c"): 5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "c.yaml is empty"),
        ("\ufeff \n", "c.yaml is empty"),
        ("# only a comment\n", "no mapping"),
        ("- a\n", "no mapping"),
        ("word", "no mapping"),
        ("a: 1\nb: [1\n", r"line \d, column \d"),
        ("a: 1\n b: 2\n", "line 2, column 3"),
        ("a: 1\nb:\n  c: 1\n  c: 2\n", "line 4, column 3: .*the key c stands here a second time, after line 3"),
        ("a: 1\n---\nb: 1\n", "line 2, column 1"),
        ("a: !!python/object:os.system x", "line 1, column 4.*tags"),
        ("a: !!int x", "line 1, column 4"),
        ("a: " + "9" * 5000, "too many digits"),
        ("a: " + "[" * 40 + "]" * 40, "nested too deeply"),
        ("{a: " * 40 + "1" + "}" * 40, "nested too deeply"),
        ("a: !!int ''", "does not fit its tag"),
        ("a: !!bool x", "does not fit its tag"),
        ("a: !!null sk-abc", "does not fit its tag"),
        ("a: .nan", "must be finite"),
        ("a: 1e999", "must be finite"),
        ("<<: {a: 1}", "_base_"),
        ("? [a]\n: b", "a key must be text"),
        ("a: &x [1]\nb: *x\nc: *y", "line 3"),
        ("a: " + "[" * 600, "nested too deeply"),
        ("a: &x\n  b: *x", "nested too deeply"),
        ("a: \x00", "not valid YAML"),
        ("a: 1\n\tb: 2", "line 2, column 1"),
    ],
)
def test_a_fault_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_document(text, FILE)


def test_aliases_cannot_blow_a_file_up() -> None:
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 9))
    with pytest.raises(ConfigError, match="more than 10000 values"):
        read_document("l0: &l0 x\n" + levels, FILE)


@pytest.mark.parametrize(
    "text", ["k: *hunter2", "k: !hunter2 x", "k: %hunter2", "k: @hunter2", "k: 'hunter2", "k: - hunter2"]
)
def test_a_syntax_error_does_not_repeat_what_may_be_a_password(text: str) -> None:
    """More 18."""
    with pytest.raises(ConfigError) as caught:
        read_document(text, FILE)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "a: {b: 1, c: [x\n",
            "line 2, column 1: not valid YAML: expected ',' or ']', but the text ends (it begins on line 1, column 14)",
        ),
        (
            "a: {b: 1\n",
            "line 2, column 1: not valid YAML: expected ',' or '}', but the text ends (it begins on line 1, column 4)",
        ),
        ("a: [1, 2\nb: 3\n", "line 2, column 2: not valid YAML: expected ',' or ']', but ':' follows"),
        ("a: [b\n---\n", "but a new document begins"),
        ("a: [b [c\n", "expected ',' or ']', but '[' follows"),
        (
            "a: {b: 1}}",
            "column 10: not valid YAML: expected the next entry (it begins on line 1, column 1), but '}' follows",
        ),
        (
            '{"id": 1, "q": "x"}\n{"id": 2}\n',
            "line 2, column 1: not valid YAML: the mapping has ended, but more follows\nThis looks like a task file",
        ),
        (
            "a: 1\n---\nb: 1\n",
            "line 2, column 1: not valid YAML: a second document begins here\nA configuration is one YAML",
        ),
        ("a:\n\tb: 1", "line 2, column 1: not valid YAML: a tab stands here\nIndent with spaces."),
        ("\ta: 1", "line 1, column 1: not valid YAML: a tab stands here\nIndent with spaces."),
        ("a: @x", "line 1, column 4: not valid YAML: no value begins with '@'"),
        ("a: b: c", "line 1, column 5: not valid YAML: no ':' may stand here"),
        (
            "# T\n\n- one\n\nSome text: here\n",
            "line 5, column 1: not valid YAML: expected the next entry (it begins on line 3, column 1), but a key",
        ),
        ("a: 'x\n", "a quote is never closed (it begins on line 1, column 4)"),
        ("a: *x", "an alias names nothing"),
        ("a: [}", "expected a value, but '}' follows"),
        ("a: 1\nb\nc: 1", "a key has no ':' behind it (it begins on line 2, column 1)"),
        ('a: "\\q"', "no such escape with a backslash"),
        ("a: |x\n b", "this may not stand behind `|`"),
        ("a: - x", "no '- ' may stand here"),
        ("a: 1\nb: x\x07", "line 2, column 5: not valid YAML: a control character stands here"),
        ("%FOO\na: 1", "not valid YAML: "),
    ],
)
def test_a_syntax_error_is_told_in_words_with_its_place_and_a_hint(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_document(text, FILE)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("tasks.jsonl", '{"a": 1}\n{"a": 2}', "env.data_path"),
        ("tasks.csv", "question,answer\na,b", "env.data_path"),
        ("seed.md", "# Skill\n\nDo it well: always\n- yes", "env.skill_init"),
        ("seed.md", "# Skill\n\nDo it well", "env.skill_init"),
    ],
)
def test_a_file_of_another_kind_is_recognised(name: str, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read_document(text, Path(name))
    assert told in caught.value.hint


@given(st.text("abk: \t\n-?[]{},'\"#&*!|>%@`\\<", max_size=30))
def test_no_syntax_error_repeats_the_readers_words_or_the_texts(text: str) -> None:
    try:
        read_document("hunter2" + text + "hunter2", FILE)
    except ConfigError as error:
        said = error.message.replace("the key ", "")
        assert "a name" not in said and "<" not in said
        assert "hunter2" not in said or "a second time" in said
