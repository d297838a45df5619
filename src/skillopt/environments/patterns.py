"""Regular expressions that come with a configuration or its data, matched against what a model said.

Neither is ours, so an expression may backtrack for ever on a reply. Python's `re` cannot be stopped then, and lets
nothing else work meanwhile; the library `regex` can be. Its syntax has more in it than Python's, some of which would
give an old expression another meaning. So `re` says what an expression is, and `regex` only matches it: what it would
read otherwise is written out for it. Characters that are newer than Python's own tables are left to it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping

import regex

MATCH_SECONDS = 5.0
"""Most seconds that one expression may take on one text."""

LONGEST = 20_000
"""Most characters of an expression."""

MOST_PARTS = 100_000
"""Most parts that an expression may have once `{n}` is written out, as the library does."""

_TOKEN = re.compile(
    r"(?P<named>\\N\{[^}]*\})|\\(?P<octal>0[0-7]{0,2}|[1-3][0-7]{2})|\\(?P<group>[1-9][0-9]?)|(?P<escape>\\.)|(?P<comment>\(\?#(?:\\.|[^)\\])*\))"
    r"|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|\{(?P<least>\d*)(?P<most>,\d*)?\}|(?P<other>.)",
    re.DOTALL,
)
_PART_FLAGS = re.compile(r"\(\?[a-zL]*-?[a-z]*:")
_ITEM = re.compile(r"\\N\{[^}]*\}|\\.|.", re.DOTALL)
_SKIPPED = " \t\n\r\v\f"
"""Space that stands for nothing under the flag x."""
_WORD = r"\p{L}\p{N}_"
_SPACE = r"\s\x1c-\x1f"
_IN_TEXT = "" if re.search(r"\B", "") else r"(?!\A\Z)"
"""In a text without characters, older Pythons find no place for `\\B`."""
_REST_OF_LINE = re.compile(r"(?:\\.|[^\n\\])*", re.DOTALL)
_EDGE = rf"(?<=[{_WORD}])(?![{_WORD}])|(?<![{_WORD}])(?=[{_WORD}])"
_CLASSES: Mapping[str, str] = {
    r"\w": f"[{_WORD}]",
    r"\W": f"[^{_WORD}]",
    r"\s": f"[{_SPACE}]",
    r"\S": f"[^{_SPACE}]",
    r"\b": f"(?:{_EDGE})",
    r"\B": f"(?!{_EDGE})",
}
"""Where the library takes more or fewer characters for those of a word or for space, what stands for it there."""


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
        written, parts = _as_python_reads_it(pattern, flags=re.compile(pattern, flags).flags)
        if parts > MOST_PARTS:
            raise ValueError(f"its repetitions make more than {MOST_PARTS:,} parts")
        return regex.compile(written, flags | regex.VERSION0)
    except (re.error, regex.error) as error:
        raise ValueError(str(error)) from None
    except (RecursionError, OverflowError):
        raise ValueError("it is nested too deeply, or repeats too often") from None


def _as_python_reads_it(pattern: str, *, flags: int) -> tuple[str, int]:
    """Return the expression for the library, without what only the library reads in it, and its size written out.

    A brace that is no `{n,m}` stands for itself in Python, and may be an approximate match in the library: `x_{i}`
    would match any text. A bracket within a set stands for itself too. A name of a character is written as its number,
    and comments are left out.

    Raises:
        ValueError: If flags are given for a part of it in which its text or its classes are read in another way.
    """
    ascii_only, verbose = bool(flags & re.ASCII), bool(flags & re.VERBOSE)
    written: list[str] = []
    sums, lasts = [0], [0]
    position = 0
    while token := _TOKEN.match(pattern, position):
        text, part, position = token[0], 1, token.end()
        if token["comment"] or (verbose and (text == "#" or text in _SKIPPED)):
            if text == "#" and (line := _REST_OF_LINE.match(pattern, position)):
                position = line.end()
            continue
        if verbose and text.isspace():
            text = f"\\U{ord(text):08x}"  # The library would skip it.
        elif token["named"]:
            text = _numbered(text)
        elif token["octal"]:
            text = f"\\U{int(token['octal'], 8):08x}"
        elif token["group"]:
            text = f"\\g<{token['group']}>"  # So that digits that come behind a space or a comment do not belong to it.
        elif token["set"]:
            text = _set(text, ascii_only=ascii_only)
        elif token["escape"]:
            text = text if ascii_only else _CLASSES.get(text, text)
            text = rf"(?:{_IN_TEXT}{text})" if token[0] == r"\B" else text
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
            part_flags = _PART_FLAGS.match(pattern, token.start())
            if part_flags and set("aux") & set(part_flags[0]):
                raise ValueError("flags a, u and x hold for all of it or not at all: write them first, such as (?x)")
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


def _set(text: str, *, ascii_only: bool) -> str:
    """Return a set of characters as the library must be given it."""
    opening = 2 if text.startswith("[^") else 1
    items = [found[0] for found in _ITEM.finditer(text[opening:-1])]
    every = {r"\w", r"\W"} <= set(items) or {r"\s", r"\S"} <= set(items)
    if ascii_only or every:
        classes: Mapping[str, str] = {}
    else:
        classes = {r"\w": _WORD, r"\s": _SPACE}
    without = [] if ascii_only or every else [item for item in items if item in (r"\W", r"\S")]
    kept = "".join(
        classes.get(item) or (r"\[" if item == "[" else _numbered(item)) for item in items if item not in without
    )
    parts = [f"[{kept}]"] if kept else []
    parts += [_CLASSES[item] for item in dict.fromkeys(without)]
    if not without:
        return f"{text[:opening]}{kept}]"
    either = "|".join(parts)
    return rf"(?:(?!{either})[\s\S])" if opening == len("[^") else f"(?:{either})"


def _numbered(text: str) -> str:
    """Return an escape that names a character as one with its number; any other text as it is."""
    return f"\\U{ord(unicodedata.lookup(text[3:-1])):08x}" if text.startswith(r"\N{") else text


def _too_slow(pattern: str, text: str) -> PatternTimeout:
    shown = pattern if len(pattern) <= 100 else f"{pattern[:97]}..."
    return PatternTimeout(
        f"the pattern {shown!r} took longer than {MATCH_SECONDS:g} seconds on an answer of {len(text):,} characters; "
        "write it so that there is one way to match a text"
    )
