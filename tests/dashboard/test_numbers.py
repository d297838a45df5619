"""Numbers in addresses."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import Request

from skillopt.dashboard.numbers import number, number_in_query


@given(st.integers(0, 999_999_999))
def test_a_whole_number_is_one(value: int) -> None:
    assert number(str(value)) == value


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "1.0", " 1", "1e3", "0x1", "\u0663", "\u00b2", "1" * 10, "1\n", "None"]
)
def test_anything_else_is_none(text: str) -> None:
    assert number(text) is None


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    found = number(text)
    assert found is None or 0 <= found <= 999_999_999


@pytest.mark.parametrize(("query", "value"), [(b"", 7), (b"draw=2", 2), (b"draw=x", None), (b"draw=", None)])
def test_a_query_without_the_word_has_the_default(query: bytes, value: int | None) -> None:
    request = Request({"type": "http", "query_string": query, "headers": []})
    assert number_in_query(request, "draw", default=7) == value
