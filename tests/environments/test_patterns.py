"""Expressions that are not ours: they mean what they mean in Python, and none of them hangs or fills the memory."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
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
        (r"\N{EN DASH}", "\u2013"),
        (r"[\N{EN DASH}-\N{EM DASH}]", "\u2014"),
        (r"(a)\1\07\101", "aa\x07A"),
        (r"\B", ""),
        (r"(?a)\B", ""),
        ("(?x)\\0 1", "\x001"),
        (r"\N{EN DASH}{2}", "\u2013\u2013"),
        ("(?x) a # [ a comment (\n b [[] ", "ab["),
        ("(?x) a # { ] \\\n{2}", "aa"),
        ("(?x)a{ 2}", "aa"),
        ("(?x)a{ 2}", "a{2}"),
        ("(?x)(a)\\1 2", "aa2"),
        ("(?x)a\xa0b\u2028c", "ab c"),
        ("(?x)a\xa0b\u2028c", "a\xa0b\u2028c"),
        ("(?x)[ #]\\#\\ ", " # "),
        (r"a(?#[)b[c]", "abc"),
        (r"(a)\1(?#x\)y)2", "aa2"),
        (r"\w+", "a\u0301"),
        (r"\w\W", "a\u0301"),
        (r"[^\W\d]+", "a\u0301"),
        (r"[\W_]+", "\u0301_"),
        (r"[\w-]+", "²-"),
        (r"[^\w]", "²"),
        (r"\s[\s][^\S\n]", "\x1c\x1d\x1e"),
        (r"a\b\u0301\B.", "a\u0301-"),
        (r"(?a)\w[\w]\s\b", "ab "),
        (r"(?a)\w", "é"),
        (r"[\s\S]+", "a\n\x1c"),
        (r"[^\W\w]|b", "b"),
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


SIGNS = r"ab[]()|*+?^$.-{},12 #:\n"
LONGER = (
    *(r"\w", r"\W", r"\s", r"\S", r"\d", r"\b", r"\B", r"\1", r"\[", r"\x41"),
    *("(?#", "(?:", "(?P<n>", "(?!", "(?<=", "(?x)", "(?i)", "(?a)"),
    *(r"\N{EN DASH}", r"\N{LATIN SMALL LETTER A}", "\n", "\u0301", "\xa0", "\xe9"),
    *("[^", r"[\w-]", r"[^\W_]", r"[\s\S]", "# a ["),
)
PARTS = st.sampled_from((*SIGNS, *LONGER))


@settings(max_examples=500)
@given(
    st.sampled_from(["", "(?x)", "(?i)", "(?a)", "(?ix)", "(?s)", "(?m)"]),
    st.lists(PARTS, max_size=9).map("".join),
    st.text("abAB1_- #[]{}\n\x1c\u0301\xa0é²\u2013", max_size=5),
)
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_so_does_any_with_flags_classes_comments_and_names(flags: str, pattern: str, text: str) -> None:
    try:
        whole = re.fullmatch(flags + pattern, text)
        part = re.search(flags + pattern, text)
    except (re.error, OverflowError, RecursionError):
        with pytest.raises(ValueError):
            check_pattern(flags + pattern)
    else:
        assert matches(flags + pattern, text, whole=True) == (whole is not None)
        assert matches(flags + pattern, text, whole=False) == (part is not None)


@pytest.mark.parametrize("pattern", ["(?x:a b)", "(?-x:a)", "(?a:\\w)", "(?i-x: a)"])
def test_flags_for_a_part_that_would_be_read_in_another_way_are_refused(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"flags a, u and x hold for all of it or not at all.*\(\?x\)"):
        check_pattern(pattern)


def test_one_that_is_large_behind_space_or_a_comment_is_refused_too() -> None:
    for between in (" ", "# x\n", "(?#x)"):
        with pytest.raises(ValueError, match="more than 100,000 parts"):
            check_pattern(f"(?x)(a{{1000}}){between}{{1000}}")
