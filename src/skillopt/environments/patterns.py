"""Regular expressions that come with a configuration or its data, matched against what a model said.

Neither is ours, so an expression may backtrack for ever on a reply. Python's `re` cannot be stopped then, and lets
nothing else work meanwhile; the library `regex` can be. Its syntax has more in it than Python's, some of which would
give an old expression another meaning. So `re` says what an expression is, and `regex` only matches it.
"""

from __future__ import annotations

import re

import regex

MATCH_SECONDS = 5.0
"""Most seconds that one expression may take on one text."""

LONGEST = 20_000
"""Most characters of an expression."""

MOST_PARTS = 100_000
"""Most parts that an expression may have once `{n}` is written out, as the library does."""

_TOKEN = re.compile(
    r"(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|\{(?P<least>\d*)(?P<most>,\d*)?\}|(?P<other>.)", re.DOTALL
)


class PatternTimeout(Exception):
    """An expression took too long on a text."""


def check_pattern(pattern: str) -> None:
    """Make sure that an expression can be matched.

    Raises:
        ValueError: If it is no expression in Python's syntax, nested too deeply, or too large once written out.
    """
    _compiled(pattern, 0)


def matches(pattern: str, text: str, *, whole: bool) -> bool:
    """Whether an expression matches a text.

    Args:
        pattern: The expression, in Python's syntax.
        text: The text.
        whole: Whether the whole text must match, rather than a part of it.

    Raises:
        PatternTimeout: If it takes longer than `MATCH_SECONDS`.
        ValueError: If it is none.
    """
    compiled = _compiled(pattern, 0)
    match = compiled.fullmatch if whole else compiled.search
    try:
        return match(text, timeout=MATCH_SECONDS) is not None
    except TimeoutError:
        raise _too_slow(pattern, text) from None


def last_match(pattern: str, text: str) -> str:
    """Return the last match of an expression, its first group where it has one; "" where there is none.

    Args:
        pattern: The expression, in Python's syntax; `^` and `$` match at lines.
        text: The text.

    Raises:
        PatternTimeout: If it takes longer than `MATCH_SECONDS`.
        ValueError: If it is none.
    """
    found: regex.Match[str] | None = None
    compiled = _compiled(pattern, re.MULTILINE)
    try:
        for match in compiled.finditer(text, timeout=MATCH_SECONDS):
            found = match
    except TimeoutError:
        raise _too_slow(pattern, text) from None
    if found is None:
        return ""
    return found[1] if compiled.groups and found[1] is not None else found[0]


def _compiled(pattern: str, flags: int) -> regex.Pattern[str]:
    if len(pattern) > LONGEST:
        raise ValueError(f"it has {len(pattern):,} characters, more than {LONGEST:,}")
    try:
        re.compile(pattern, flags)
        written, parts = _as_python_reads_it(pattern)
        if parts > MOST_PARTS:
            raise ValueError(f"its repetitions make more than {MOST_PARTS:,} parts")
        return regex.compile(written, flags | regex.VERSION0)
    except (re.error, regex.error) as error:
        raise ValueError(str(error)) from None
    except (RecursionError, OverflowError):
        raise ValueError("it is nested too deeply, or repeats too often") from None


def _as_python_reads_it(pattern: str) -> tuple[str, int]:
    """Return the expression for the library, without what only the library reads in it, and its size written out.

    A brace that is no `{n,m}` stands for itself in Python, and may be an approximate match in the library: `x_{i}`
    would match any text. A bracket within a set stands for itself too.
    """
    written: list[str] = []
    sums, lasts = [0], [0]
    for token in _TOKEN.finditer(pattern):
        text, part = token[0], 1
        if token["set"]:
            opening = 2 if text.startswith("[^") else 1
            text = text[:opening] + re.sub(
                r"(\\.)|\[", lambda found: found[1] or r"\[", text[opening:], flags=re.DOTALL
            )
        elif token["least"] is not None:
            least, most = token["least"], token["most"]
            if least or most:
                text = f"{{{least or 0}{most or ''}}}"
                # The part before it is there so often in place of once.
                part = lasts[-1] * (max(1, int(least or 0)) - 1)
            else:
                text = r"\{\}"
        elif text == "{":
            text = r"\{"
        elif text == "(":
            sums.append(0)
            lasts.append(0)
            part = 0
        elif text == ")" and len(sums) > 1:
            part = sums.pop() + 1
            lasts.pop()
        written.append(text)
        sums[-1] += part
        lasts[-1] = lasts[-1] + part if token["least"] is not None else part
    return "".join(written), sum(sums)


def _too_slow(pattern: str, text: str) -> PatternTimeout:
    shown = pattern if len(pattern) <= 100 else f"{pattern[:97]}..."
    return PatternTimeout(
        f"the pattern {shown!r} took longer than {MATCH_SECONDS:g} seconds on an answer of {len(text):,} characters; "
        "write it so that there is one way to match a text"
    )
