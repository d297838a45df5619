"""The estimate of a text's tokens. The counts it is held against are those of the Qwen2.5 tokenizer."""

from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.skill.size import estimate_tokens, nearly_full, size_warning

ENGLISH = (
    "The skill document is Markdown that a frozen model reads before it works. Each step proposes bounded edits, and "
    "the gate keeps the candidate only if its score on the selection split is strictly higher.\n"
)
CHINESE = "技能文档是模型在工作之前阅读的说明。每一步训练都会提出修改。"
CODE = "def load(path: Path) -> str:\n    with path.open() as file:\n        return file.read()\n"


@pytest.mark.parametrize(
    ("text", "lowest", "highest"),
    [(ENGLISH, 34, 52), (CHINESE, 18, 32), (CODE, 22, 36), ("2024-01-05 12:30", 15, 16), ("", 0, 0), (" ", 0, 0)],
)
def test_the_estimate_is_near_what_a_tokenizer_counts(text: str, lowest: int, highest: int) -> None:
    assert lowest <= estimate_tokens(text) <= highest


def test_the_formula_is_the_documented_one() -> None:
    assert estimate_tokens("abcdefg") == 1
    assert estimate_tokens("abcdefgh") == 2
    assert estimate_tokens("жжж") == 2
    assert estimate_tokens("漢字") == 2
    assert estimate_tokens("123") == 3
    assert estimate_tokens("=" * 16) == 3
    assert estimate_tokens("a b\n\n    c") == 4
    assert estimate_tokens(" " * 64) == 3


PIECES = st.sampled_from([*map(chr, range(128)), *string.ascii_letters]).flatmap(
    lambda one: st.integers(1, 40).map(lambda times: one * times)
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_ascii_text_is_counted_faster_and_by_the_same_formula(text: str) -> None:
    """One letter more that is no ASCII takes the other way, and is one token."""
    assert estimate_tokens(f"{text}é") == estimate_tokens(text) + 1


def test_a_text_without_any_space_is_not_taken_for_one_token() -> None:
    """F117: padding out of one repeated character cannot slip a large text under a limit."""
    assert estimate_tokens("x" * 70_000) == 10_000
    assert estimate_tokens("#" * 8_000) == 1_001


def test_twice_a_text_is_about_twice_its_size() -> None:
    assert estimate_tokens(ENGLISH * 50) == 50 * estimate_tokens(ENGLISH)


@pytest.mark.parametrize(("tokens", "told"), [(80, ""), (81, "81 of at most 100"), (100, "100%"), (101, "above")])
def test_a_warning_comes_above_four_fifths_of_the_limit_and_another_one_above_all_of_it(tokens: int, told: str) -> None:
    """F117."""
    warning = size_warning(tokens, 100)
    assert told in warning
    assert bool(warning) == bool(told) == nearly_full(tokens, 100)
