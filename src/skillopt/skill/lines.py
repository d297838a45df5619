r"""Lines of a text whose bytes must survive: offsets rather than lists of lines.

A line ends at `\r\n`, `\n` or a lone `\r`, as in Markdown; other Unicode separators are ordinary characters. Nothing
here knows of sections or edits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

LINE_END = re.compile(r"\r\n|\n|\r")

# What may be left of a line whose text is removed: nothing, or the mark of a list item, quotation or heading.
_MARK_ONLY = re.compile(r"(?:[-*+>]|\d{1,9}[.)]|#{1,6})?")


class Span(NamedTuple):
    """Offsets of a piece of text: from `start`, up to and without `end`."""

    start: int
    end: int


class Line(NamedTuple):
    """One line of a text.

    Attributes:
        number: From 1.
        start: Offset of its first character.
        end: Offset of its line end, or of the end of the text.
        next_start: Offset behind its line end.
    """

    number: int
    start: int
    end: int
    next_start: int


def iterate_lines(text: str) -> Iterator[Line]:
    """Yield the lines of a text; one that ends with a line end has no empty line behind it."""
    start, number = 0, 0
    for number, line_end in enumerate(LINE_END.finditer(text), start=1):
        yield Line(number, start, line_end.start(), line_end.end())
        start = line_end.end()
    if start < len(text):
        yield Line(number + 1, start, len(text), len(text))


def line_number(text: str, offset: int) -> int:
    """Return the number, from 1, of the line that an offset lies on."""
    return 1 + sum(1 for line_end in LINE_END.finditer(text) if line_end.end() <= offset)


def line_start(text: str, offset: int) -> int:
    """Return the offset of the first character of the line that an offset lies on."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def line_end(text: str, offset: int) -> Span:
    """Return the first line end at or behind an offset; an empty span at the end of the text where there is none."""
    found = LINE_END.search(text, offset)
    return Span(*found.span()) if found else Span(len(text), len(text))


def prevailing_line_end(text: str) -> str:
    r"""Return the line end that a text uses most; `\n` for a tie and for a text of one line."""
    pairs = text.count("\r\n")
    counts = {"\n": text.count("\n") - pairs, "\r\n": pairs, "\r": text.count("\r") - pairs}
    return max(counts, key=lambda end: counts[end])


def trailing_line_ends(text: str) -> int:
    """Return the number of line ends in the white space at the end of a text: 2 and more is a blank line."""
    return len(LINE_END.findall(text, len(text.rstrip())))


def with_line_ends(text: str, end: str) -> str:
    """Return the text with every line end replaced by the given one."""
    return LINE_END.sub(lambda _: end, text)


def trim_blank_lines(text: str) -> str:
    """Return the text without blank lines at its edges and without white space at its end; indentation stays."""
    trimmed = text.rstrip()
    leading = trimmed[: len(trimmed) - len(trimmed.lstrip())]
    return trimmed[line_start(leading, len(leading)) :]


def widen_for_removal(text: str, span: Span, *, floor: int) -> Span:
    """Return the span to cut so that a removal leaves neither an empty line nor a growing gap.

    A span that is all of its lines takes their line ends along, and the blank lines behind it where there is a blank
    line ahead of it too. At the end of the text it takes the blank lines ahead of it instead, and a text without a
    last line end stays one. A span within a line takes one space along where two would meet.

    Args:
        text: The whole text.
        span: What is removed.
        floor: The offset before which nothing may be touched (the end of the front matter).
    """
    first = max(line_start(text, span.start), floor)
    last = line_end(text, span.end)
    if not _MARK_ONLY.fullmatch(text[first : span.start].strip()) or text[span.end : last.start].strip():
        return _widen_within_line(text, span, floor=floor)
    blank_before = _skip_blank_lines_back(text, first, floor=floor)
    if not text[last.end :].strip():
        if last.start < last.end:
            return Span(blank_before, last.end)
        return Span(max(len(text[:blank_before].rstrip("\r\n")), floor), len(text))
    if blank_before < first or first == floor:
        return Span(first, _skip_blank_lines(text, last.end))
    return Span(first, last.end)


def _widen_within_line(text: str, span: Span, *, floor: int) -> Span:
    before, after = text[floor : span.start], text[span.end : span.end + 1]
    if before.endswith((" ", "\t")) and not after.isalnum():
        return Span(span.start - 1, span.end)
    return span


def _skip_blank_lines(text: str, offset: int) -> int:
    """Return the start of the first line at or behind a line's start that is not blank."""
    while offset < len(text):
        end = line_end(text, offset)
        if text[offset : end.start].strip():
            break
        offset = end.end
    return offset


def _skip_blank_lines_back(text: str, offset: int, *, floor: int) -> int:
    """Return the start of the earliest of the blank lines right ahead of a line's start."""
    kept = text[floor:offset].rstrip()
    if not kept:
        return floor
    return line_end(text, floor + len(kept)).end
