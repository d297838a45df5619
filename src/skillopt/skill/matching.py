"""Finding the place that an edit's target names.

A target counts as found only at word boundaries: "use 1" is not in "use 10", "cat" not in "concatenate", "## X" not in
"### X". It is looked for as it is written and, only where that finds nothing, in a normalised form in which line ends
and runs of white space are one space, Unicode is canonically decomposed (two texts are equal so if and only if they are
equal in NFC), and typographic quotes and dashes are plain. Letter case always counts. What is done at a place is not
decided here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass

from skillopt.skill.document import Skill
from skillopt.skill.lines import Span, trim_blank_lines

_SINGLE_QUOTES, _DOUBLE_QUOTES = "\u2018\u2019\u201a\u201b", "\u201c\u201d\u201e\u201f"
_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_PLAIN = str.maketrans(
    dict.fromkeys(_SINGLE_QUOTES, "'") | dict.fromkeys(_DOUBLE_QUOTES, '"') | dict.fromkeys(_DASHES, "-")
)

# Scripts written without spaces, where every character may begin or end a word: Thai, Lao, Tibetan, Myanmar, Khmer,
# kana, and Han.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff]"
)

# Between two digits these are part of one number, date or time; between letters the first few are part of one word.
_JOINS_WORDS = ".'\u2019"
_JOINS_NUMBERS = _JOINS_WORDS + ",:/-\u2013"

# Unicode's stream-safe text format allows 30 combining marks in a row.
_MOST_MARKS = 31

# A run of one of these is one Markdown mark.
_MARKS = "#*-=~`"


@dataclass(frozen=True, slots=True)
class Places:
    """Where a target is found.

    Attributes:
        editable: In the body, in order; they do not touch front matter or a protected section.
        refused: Those that overlap front matter or a protected section in any way, in order.
        exact: Whether the target stands there character by character.
    """

    editable: tuple[Span, ...] = ()
    refused: tuple[Span, ...] = ()
    exact: bool = True


def find_places(skill: Skill, target: str) -> Places:
    """Return where the target is found; places in the normalised form only where the body holds no exact one.

    Blank lines around the target and white space at its end do not count.
    """
    wanted = trim_blank_lines(target)
    exact = _sorted_out(skill, _occurrences(skill.text, wanted), exact=True)
    if exact.editable:
        return exact
    normalised = _sorted_out(skill, normalised_occurrences(skill.text, wanted), exact=False)
    return normalised if normalised.editable or normalised.refused else exact


def normalised_occurrences(text: str, wanted: str) -> Iterator[Span]:
    """Yield the spans of the text whose normalised form is that of the wanted text, at word boundaries."""
    needle = _normalise(wanted).text.strip(" ")
    if not needle:
        return
    haystack = _normalise(text)
    for found in _occurrences(haystack.text, needle):
        yield Span(haystack.starts[found.start], haystack.ends[found.end - 1])


def overlaps_protected(skill: Skill, span: Span) -> bool:
    """Return whether a span shares a character with front matter or a protected section."""
    return span.start < skill.body_start or any(
        span.start < section.span.end and section.span.start < span.end for section in skill.sections
    )


def is_boundary(text: str, position: int) -> bool:
    """Return whether a word, number or Markdown mark may end or begin at an offset of the text."""
    if position <= 0 or position >= len(text):
        return True
    left, right = text[position - 1], text[position]
    if unicodedata.category(right).startswith("M"):
        return False
    if _is_word(left) and _is_word(right):
        return bool(_UNSPACED.match(left) or _UNSPACED.match(right))
    if left == right and left in _MARKS:
        return False
    return not (_joins(text, position) or _joins(text, position - 1))


def _sorted_out(skill: Skill, spans: Iterator[Span], *, exact: bool) -> Places:
    editable: list[Span] = []
    refused: list[Span] = []
    for span in spans:
        (refused if overlaps_protected(skill, span) else editable).append(span)
    return Places(tuple(editable), tuple(refused), exact)


def _occurrences(text: str, wanted: str) -> Iterator[Span]:
    start = text.find(wanted) if wanted else -1
    while start >= 0:
        span = Span(start, start + len(wanted))
        if is_boundary(text, span.start) and is_boundary(text, span.end):
            yield span
        start += 1
        while not is_boundary(text, start):  # a search from every letter of a long word would cost its square
            start += 1
        start = text.find(wanted, start)


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_" or unicodedata.category(character).startswith("M")


def _joins(text: str, position: int) -> bool:
    """Return whether the character at an offset holds its neighbours together as one word or number."""
    if position == 0 or position + 1 >= len(text) or text[position] not in _JOINS_NUMBERS:
        return False
    left, right = text[position - 1], text[position + 1]
    if left.isdigit() and right.isdigit():
        return True
    return text[position] in _JOINS_WORDS and _is_word(left) and _is_word(right)


@dataclass(frozen=True, slots=True)
class _Normalised:
    """A normalised text, and for each of its characters the span of the original that it stands for."""

    text: str
    starts: list[int]
    ends: list[int]


def _normalise(text: str) -> _Normalised:
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    start = 0
    while start < len(text):
        end = start + 1
        if text[start].isspace():
            while end < len(text) and text[end].isspace():
                end += 1
            piece = " "
        else:
            # Decomposition reorders combining marks, so a character and its marks are one piece. Ordering costs the
            # square of their number, hence the limit.
            while end < min(len(text), start + _MOST_MARKS) and unicodedata.combining(text[end]):
                end += 1
            piece = unicodedata.normalize("NFD", text[start:end]).translate(_PLAIN)
        pieces.append(piece)
        starts.extend([start] * len(piece))
        ends.extend([end] * len(piece))
        start = end
    return _Normalised("".join(pieces), starts, ends)
