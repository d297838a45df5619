"""Expressions that are not ours: they mean what they mean in Python, and none of them hangs or fills the memory."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skillopt.environments import patterns
from skillopt.environments.patterns import PatternTimeout, check_pattern, last_match, matches

SLOW = r"(?:a|aa)+c"
LONG = "a" * 5000


@pytest.fixture
def short_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up sooner than a user would want, so that the test need not wait."""
    monkeypatch.setattr(patterns, "MATCH_SECONDS", 0.05)


@pytest.mark.usefixtures("short_time")
@pytest.mark.parametrize("whole", [True, False])
def test_an_expression_that_backtracks_for_ever_is_given_up(whole: bool) -> None:
    with pytest.raises(
        PatternTimeout, match=r"the pattern .*\(\?:a\|aa\)\+c.* took longer than .* of 5,000 characters"
    ):
        matches(SLOW, LONG, whole=whole)


@pytest.mark.usefixtures("short_time")
def test_so_is_one_that_looks_for_an_answer() -> None:
    with pytest.raises(PatternTimeout):
        last_match(f"{SLOW}|b", "b" + LONG)


@pytest.mark.parametrize("pattern", ["((((a{1000}){1000}){1000}){1000})", "(?:(?:ab{9}){9999}){9999}", "a{100001}"])
def test_one_that_would_fill_the_memory_is_refused(pattern: str) -> None:
    """What the library does with one that is not refused takes the whole machine's memory."""
    with pytest.raises(ValueError, match=r"its repetitions make more than 100,000 parts|too large"):
        check_pattern(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:[0-9a-f]{1,4}:){1,7}:|(?:[0-9a-f]{1,4}:){1,6}(?::[0-9a-f]{1,4}){1,6}",
        r".{0,65535}",
        r"a{99999}",
        r"\d{4}-\d{2}-\d{2}",
    ],
)
def test_what_people_write_is_not(pattern: str) -> None:
    check_pattern(pattern)


def test_one_that_is_longer_than_any_person_writes_is_refused() -> None:
    with pytest.raises(ValueError, match="it has 20,001 characters"):
        check_pattern("a" * 20_001)


@pytest.mark.parametrize("pattern", ["(", "[", r"\p{L}", "(?P<a>x)(?P<a>y)", "(?<=a+)b", "(" * 5000 + ")" * 5000, "*"])
def test_what_is_no_expression_in_pythons_syntax_is_refused(pattern: str) -> None:
    with pytest.raises(ValueError):
        check_pattern(pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"x_{i}", "x_{i}"),
        (r"x_{i}", "x_anything"),
        (r"(?:foo){e}", "foo{e}"),
        (r"(?:foo){e<=1}", "fob"),
        (r"a{}", "a{}"),
        (r"a{,2}", "aa"),
        (r"a{,}", "aaaa"),
        (r"a{2,}", "a"),
        (r"a{ 2}", "a{ 2}"),
        (r"[{]", "{"),
        (r"[]{}]+", "]{}"),
        (r"[^]{]+", "ab"),
        (r"\{e\}", "{e}"),
        (r"\[{e}", "[{e}"),
        (r"[\]{e}]", "e"),
        (r"[[:alpha:]]", "b]"),
        (r"[[:alpha:]]", "a]"),
        (r"[a[b]", "["),
        (r"(a)(?(1)b|c)", "ab"),
        (r"(?i)straße", "STRASSE"),
    ],
)
@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")
def test_an_expression_means_what_it_means_in_python(pattern: str, text: str) -> None:
    """What the library reads besides, such as approximate matches in braces, would solve tasks that are not solved."""
    assert matches(pattern, text, whole=True) == (re.fullmatch(pattern, text) is not None)
    assert matches(pattern, f"-{text}-", whole=False) == (re.search(pattern, f"-{text}-") is not None)


@given(st.text(alphabet="ab{}[]()|*+?^$\\.,12:-ei<= ", max_size=12), st.text(alphabet="ab{}[]12,:-ei", max_size=6))
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_so_does_any(pattern: str, text: str) -> None:
    try:
        expected = re.fullmatch(pattern, text) is not None
    except (re.error, OverflowError, RecursionError):
        with pytest.raises(ValueError):
            check_pattern(pattern)
    else:
        assert matches(pattern, text, whole=True) == expected


def test_the_last_match_counts_and_its_first_group_where_it_took_part() -> None:
    assert last_match(r"^x = (\d+)$", "x = 1\nx = 22\ny = 3") == "22"
    assert last_match(r"\d", "1 2 3") == "3"
    assert last_match(r"(a)|b", "a b") == "b"
    assert last_match(r"c", "a b") == ""
