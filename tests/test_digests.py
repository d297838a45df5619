"""Names for content."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillopt.digests import canonical_json, digest, generator, text_digest

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_the_order_of_keys_does_not_matter_and_the_order_of_a_list_does() -> None:
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest([1, 2]) != digest([2, 1])


@settings(max_examples=30)
@given(JSON)
def test_a_value_has_one_text_and_one_digest(value: object) -> None:
    assert canonical_json(value) == canonical_json(value)
    assert len(digest(value)) == 64


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": [-float("inf")]}])
def test_what_has_no_json_form_has_no_digest(value: object) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        digest(value)


def test_any_script_and_half_a_surrogate_pair_have_a_digest() -> None:
    texts = ["", "näh", "日本", "\ud800", "\r\n", "\n"]
    assert len({digest(text) for text in texts}) == len({text_digest(text) for text in texts}) == len(texts)


def test_the_short_form_is_the_public_one() -> None:
    """REFERENCE, appendix C."""
    assert text_digest("# Skill\n")[:16] == "74daeff849609b74"


def test_a_named_choice_gives_the_same_numbers_every_time() -> None:
    assert generator(42, "reflect.failure", 1, 2).random() == generator(42, "reflect.failure", 1, 2).random()
    # A known value: it may change neither with the process nor with the release, or old runs would not replay.
    assert generator(42, "reflect.failure", 1, 2).randrange(10**6) == 511436


def test_two_choices_share_no_generator() -> None:
    draws = [
        generator(seed, name, *place).random()
        for seed in (1, 2)
        for name in ("a", "b")
        for place in ((), (1,), (1, 2), (12,))
    ]
    assert len(set(draws)) == len(draws)
