"""From a model's raw text to the one JSON value in it.

Reasoning blocks are left out, the value is found (in a fence or bare within prose), small damage is repaired, and all
that is not clear is refused with a reason that the model can be shown. Nothing is ever invented: a repair may change
punctuation between the values and nothing else. What the value means is not decided here (`structured.py`).

The text is read in one pass; work is bounded by its length, whatever is in it.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

from skillopt.digests import canonical_json
from skillopt.errors import UnusableReplyError
from skillopt.models.json_repairs import MOST_NESTING, repair
from skillopt.types import JsonValue

MOST_CHARACTERS = 2_000_000
"""Longest reply that is read, in characters."""
_MOST_UNCLOSED = 64
"""Opening square brackets of prose, such as those of half-open intervals, that are looked into."""
_MOST_VALUES = 1000
"""Values, and citations like [1] that look like one, before a reply counts as hopeless."""

_TAG = r"(?:think|thinking|reasoning)\b[^<>]{0,80}>"
_MARK = re.compile(
    rf"""(?P<opening><{_TAG})
    | (?P<closing></{_TAG})
    | (?P<fence>`{{3,}}|~{{3,}})
    | (?P<object>\{{ (?=\s*["'“”}}]))
    | (?P<list>\[ (?=\s*(?:["'“”{{\[\]\d-]|true|false|null)))
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What matters outside values: reasoning tags, fences, and brackets that may begin a value."""
_REASONING_END = re.compile(rf"</{_TAG}", re.IGNORECASE)
_INFO = re.compile(r"[ \t]*[\w.+-]*")
_EMPTY = re.compile(r"\{\s*\}")
_STRUCTURE = re.compile(r'"(?:[^"\\]++|\\.)*+"|["{}\[\]]', re.DOTALL)
"""Whole strings, brackets, and a quote that no other closes."""
_GOES_ON = re.compile(r'\s*["}\]:]')
"""What cannot follow a value: the bracket that seemed to close it stood inside a string."""
_SPAN_LIMIT = re.compile(rf"^[ \t]*(?:`{{3,}}|~{{3,}})|</{_TAG}", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class JsonReading:
    """A JSON value that was read from a reply.

    Attributes:
        value: The value; its numbers are finite and its strings are valid Unicode.
        repaired: Whether small damage was mended.
    """

    value: JsonValue
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class _Span:
    """A stretch of the reply that looks like a value; `closed` tells whether its brackets match."""

    text: str
    fenced: bool
    closed: bool

    @property
    def filled_object(self) -> bool:
        return self.text.startswith("{") and not _EMPTY.match(self.text)


def read_json(text: str) -> JsonReading:
    """Return the one JSON value of a reply.

    What is in a fence goes before what is bare, and an object with members before lists and `{}`. Several equal values
    are one. Damage is repaired only where there is one candidate.

    Raises:
        UnusableReplyError: Where there is no value, more than one, or one that cannot be read; the message says why in
            words fit for the model.
    """
    if len(text) > MOST_CHARACTERS:
        raise UnusableReplyError(f"the reply has {len(text)} characters; at most {MOST_CHARACTERS} are read")
    spans = _spans(text)
    spans = [span for span in spans if span.fenced] or spans
    spans = [span for span in spans if span.filled_object] or spans
    if not spans:
        where = " outside its reasoning" if _REASONING_END.search(text) else ""
        raise UnusableReplyError(f"the reply holds no JSON value{where}")
    if len(spans) == 1:
        return _read_alone(spans[0])
    try:
        values = {canonical_json(value): value for value in (_parse(span.text) for span in spans if span.closed)}
    except ValueError:
        values = {}
    if len(values) != 1 or not all(span.closed for span in spans):
        raise UnusableReplyError(f"the reply holds {len(spans)} JSON values where one is asked for")
    return JsonReading(next(iter(values.values())))


def _spans(text: str) -> list[_Span]:
    """Find what looks like a value, outside reasoning, in the order of the text."""
    found: list[_Span] = []
    fence = ""
    unclosed = 0
    position = 0
    while mark := _MARK.search(text, position):
        position = mark.end()
        if len(found) > _MOST_VALUES:
            raise UnusableReplyError(f"the reply holds more than {_MOST_VALUES} JSON values where one is asked for")
        if mark["opening"]:
            end = _REASONING_END.search(text, position)
            if end is None:
                raise UnusableReplyError("the reply ends inside its reasoning")
            position = end.end()
        elif mark["closing"]:
            # Some servers keep the opening tag in the prompt: all that stood before was reasoning.
            found.clear()
            fence = ""
        elif mark["fence"]:
            fence, position = _next_fence(fence, mark, text)
        elif mark["object"]:
            span, position = _object_at(text, mark.start(), fenced=bool(fence))
            found.append(span)
        elif mark["list"] and unclosed < _MOST_UNCLOSED:
            end_of_list = _closing(text, mark.start())
            if end_of_list is None:
                unclosed += 1
            else:
                found.append(_Span(text[mark.start() : end_of_list], bool(fence), closed=True))
                position = end_of_list
    return found


def _next_fence(fence: str, mark: re.Match[str], text: str) -> tuple[str, int]:
    """Return the fence that is open after a fence mark ("" for none) and where to read on."""
    if not fence:
        info = _INFO.match(text, mark.end())
        return mark[0], info.end() if info else mark.end()
    closes = mark[0].startswith(fence)
    return "" if closes else fence, mark.end()


def _object_at(text: str, start: int, *, fenced: bool) -> tuple[_Span, int]:
    """Return the object that begins at `start` and where to read on.

    Where its brackets do not match, or something follows that cannot follow a value, a quote in it is damaged: it then
    reaches to the last closing bracket before the fence, the reasoning or the text ends, and needs repair.
    """
    end = _closing(text, start)
    if end is not None and not _GOES_ON.match(text, end):
        return _Span(text[start:end], fenced, closed=True), end
    stop = _SPAN_LIMIT.search(text, end or start)
    limit = stop.start() if stop else len(text)
    last = text.rfind("}", start, limit) + 1
    return _Span(text[start : last if last > (end or start) else limit], fenced, closed=False), limit


def _closing(text: str, start: int) -> int | None:
    """Return the position after the bracket that closes the one at `start`, or None where none does."""
    expected: list[str] = []
    for token in _STRUCTURE.finditer(text, start):
        match token[0]:
            case "{" | "[":
                expected.append("}" if token[0] == "{" else "]")
                if len(expected) > MOST_NESTING:
                    raise UnusableReplyError(f"the reply's JSON is nested deeper than {MOST_NESTING} levels")
            case "}" | "]":
                if expected.pop() != token[0]:
                    return None
                if not expected:
                    return token.end()
            case '"':
                return None
            case _:
                pass
    return None


def _read_alone(span: _Span) -> JsonReading:
    """Read the only candidate: as it is, then with line breaks in strings allowed, then repaired."""
    problem = "its brackets and quotes do not match"
    if span.closed:
        try:
            return JsonReading(_parse(span.text))
        except ValueError as error:
            problem = str(error)
        try:
            return JsonReading(_parse(span.text, _LENIENT), repaired=True)
        except ValueError:
            pass
    if span.text.startswith("{"):
        repaired = repair(span.text)
        if repaired is not None and _is_plain(repaired):
            return JsonReading(repaired, repaired=True)
    raise UnusableReplyError(f"the reply's JSON cannot be read: {problem}")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is out of range")
    return number


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no JSON number")


def _members(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} occurs twice in one object")
    return members


_STRICT = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_members)
_LENIENT = json.JSONDecoder(parse_float=_finite, parse_constant=_no_constant, object_pairs_hook=_members, strict=False)


def _parse(text: str, decoder: json.JSONDecoder = _STRICT) -> JsonValue:
    """Parse a JSON text; all it can raise is `ValueError`."""
    value: JsonValue = decoder.decode(text)
    if not _is_plain(value):
        raise ValueError("a string holds half of a surrogate pair")
    return value


def _is_plain(value: JsonValue) -> bool:
    """Whether a value can be written down: finite numbers, and strings that have a UTF-8 form."""
    try:
        canonical_json(value).encode("utf-8")
    except ValueError:
        return False
    return True
