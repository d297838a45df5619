"""Repairing a damaged JSON object, and refusing every repair that would change what it says.

The library json-repair guesses what was meant; some of its guesses invent ("" for a missing value) or lose (one of two
equal keys). So each guess is laid beside the damaged text: every bracket, string and number of the guess must stand in
the text, in the same order, and nothing else may be left over but commas, colons, quotes and white space.
"""

from __future__ import annotations

import json
import re
from typing import Self, SupportsIndex, cast

from skillopt.types import JsonValue

MOST_NESTING = 64
"""Deepest nesting of a value that is read."""
MOST_REPAIRED_CHARACTERS = 65_536
"""Longest damaged object that a repair is tried on, in characters; the repair takes some 10 microseconds for each."""

_MOST_STEPS, _FREE_STEPS = 40, 20_000
"""Bound of the library's work: how often it may look at the text, for each character of it and at least. Small damage
takes 5 looks a character; some damage would take the square or the cube of the length: minutes for a reply of 30 kB."""
_COPIED = 200
"""Characters that are cut out in about the time of one look."""
_BETWEEN = re.compile(r"[\s,:]*")
_LITERAL = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|[A-Za-z]+")
_LINE_BREAKS = re.compile(r"(?:\\[nr]|[\n\r])+")
_QUOTES = "\"'“”"
_WORDS: dict[str, JsonValue] = {"true": True, "false": False, "null": None, "none": None}
# "u" stands for no single character; it is here because a backslash ahead of it begins an escape.
_ESCAPES = {'"': '"', "'": "'", "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "u": ""}


def repair(text: str) -> JsonValue:
    """Return what a damaged JSON object says, or None where a repair would have to invent or lose something.

    Trailing and missing commas, single quotes, bare quotes within strings and Python's `True` and `None` are repaired.
    """
    if len(text) > MOST_REPAIRED_CHARACTERS:
        return None
    import json_repair  # here, so that only damaged replies pay for it

    try:
        guess = cast("JsonValue", json_repair.loads(_Counted.of(text), skip_json_loads=True))
    except Exception:  # noqa: BLE001 - a guessing parser may fail in any way on hostile text: then there is no repair
        return None
    try:
        return _Comparison(text).whole(guess) if isinstance(guess, dict) else None
    except ValueError:
        return None


class _TooMuchWork(Exception):
    """The library has looked at the text too often."""


class _Counted(str):
    """A text that counts how often it is looked at, together with all texts that are cut out of it or made of it."""

    __slots__ = ("_left",)
    _left: list[int]

    @classmethod
    def of(cls, text: str, left: list[int] | None = None) -> Self:
        """Return the text; `left` holds how many looks are left, shared."""
        counted = cls(text)
        counted._left = [_MOST_STEPS * len(text) + _FREE_STEPS] if left is None else left
        return counted

    def __getitem__(self, key: SupportsIndex | slice) -> str:
        found, left = super().__getitem__(key), self._left
        left[0] -= 1 + len(found) // _COPIED
        if left[0] < 0:
            raise _TooMuchWork
        return _Counted.of(found, left) if len(found) > 1 else found

    def __add__(self, other: str) -> str:
        return _Counted.of(super().__add__(other), self._left)


class _Differs(ValueError):
    """The text does not say what the guess says."""


class _Comparison:
    """Reads a text along a guess of what it says.

    The guess tells where each string ends; what is returned is the guess with the line breaks that it lost at the ends
    of strings.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0

    def whole(self, guess: JsonValue) -> JsonValue:
        """Return what the text says.

        Raises:
            _Differs: If the guess holds something that the text does not, or the other way round.
        """
        value = self._value(guess, depth=1)
        self._skip()
        if self._position < len(self._text):
            raise _Differs
        return value

    def _value(self, guess: JsonValue, *, depth: int) -> JsonValue:
        if depth > MOST_NESTING:
            raise _Differs
        if isinstance(guess, dict):
            self._bracket("{")
            members = {self._string(key): self._value(member, depth=depth + 1) for key, member in guess.items()}
            self._bracket("}")
            return members
        if isinstance(guess, list):
            self._bracket("[")
            items = [self._value(item, depth=depth + 1) for item in guess]
            self._bracket("]")
            return items
        return self._string(guess) if isinstance(guess, str) else self._literal(guess)

    def _skip(self) -> None:
        if between := _BETWEEN.match(self._text, self._position):
            self._position = between.end()

    def _bracket(self, bracket: str) -> None:
        self._skip()
        if not self._text.startswith(bracket, self._position):
            raise _Differs
        self._position += 1

    def _literal(self, guess: JsonValue) -> JsonValue:
        self._skip()
        literal = _LITERAL.match(self._text, self._position)
        if literal is None:
            raise _Differs
        word = literal[0]
        read = _WORDS.get(word.lower(), word) if word[0].isalpha() else cast("JsonValue", json.loads(word))
        if type(read) is not type(guess) or read != guess:
            raise _Differs
        self._position = literal.end()
        return guess

    def _string(self, guess: str) -> str:
        self._skip()
        self._quote()
        for character in guess:
            self._character(character)
        ending = _LINE_BREAKS.match(self._text, self._position)
        lost = ending[0].replace("\\n", "\n").replace("\\r", "\r") if ending else ""
        self._position += len(ending[0]) if ending else 0
        self._quote()
        return str(guess) + lost

    def _quote(self) -> None:
        if self._position >= len(self._text) or self._text[self._position] not in _QUOTES:
            raise _Differs
        self._position += 1

    def _character(self, character: str) -> None:
        """Pass over one character of a string, as it is or escaped."""
        text, position = self._text, self._position
        code = text[position + 1 : position + 2] if text.startswith("\\", position) else ""
        if code == "u" and text[position + 2 : position + 6].lower() == f"{ord(character):04x}":
            self._position += 6
        elif code and _ESCAPES.get(code) == character:
            self._position += 2
        elif text.startswith(character, position) and code not in _ESCAPES:
            # A backslash that begins no escape, as in "\alpha", stands for itself.
            self._position += 1
        else:
            raise _Differs
