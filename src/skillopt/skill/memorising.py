r"""Finding what a new text copies from tasks: the difference between a rule that was learnt and an item by heart.

A text copies a task where it repeats so many words of one of the task's texts in a row, or one of them whole where it
is shorter than that: the texts are all that stands in the task's fields, question and expected answer alike. Two things
are no copies. What stands in about every task is the frame in which they are put. A short text that a second task has
as well, such as a label, belongs to the kind of task, and one of a few letters is hit by chance.

Words are compared without letter case, Unicode form, punctuation and white space between them. A script that does not
set its words apart (Han, kana, Hangul, Thai and its neighbours) counts by characters, two for a word. A text of N words
takes time in proportion to N, and so does every task; nothing is kept in between.

This module finds and decides nothing; what is flagged or refused is the stages' business (`step/copies.py`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from skillopt.types import Copy, JsonValue, Task

SHORTEST_COPY = 8
"""Letters and digits of the shortest text of a task that counts where it is copied whole; a character of a script
without spaces counts twice."""

_WORD = 2
"""Weight of a word; a character of a script without spaces weighs 1."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3040-\u30ff\u3100-\u312f\u31f0-\u31ff\u3400-\u4dbf"
    "\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
)
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff\u1ab0-\u1aff\u20d0-\u20ff"
)
_UNIT = re.compile(rf"(?![\u3000-\u303f])[{_UNSPACED}]|[^\W_{_UNSPACED}](?:[^\W_{_UNSPACED}]|[{_MARKS}])*")
_UNSPACED_UNIT = re.compile(rf"[{_UNSPACED}]")


@dataclass(frozen=True, slots=True)
class _Passage:
    """So many words in a row, or the beginning of such a row.

    Attributes:
        key: Its words in the form in which they are compared.
        first: Number of its first word.
        last: Number of its last word.
        full: Whether it has as many words as a copy takes.
    """

    key: str
    first: int
    last: int
    full: bool


def find_copies(texts: Sequence[str], *, known: str, tasks: Sequence[Task], words: int) -> tuple[tuple[Copy, ...], ...]:
    """Return for each text what it copies from tasks.

    Args:
        texts: The new texts.
        known: What was there before; a passage that stands there is not new.
        tasks: Which tasks; passages that stand in at least half of them, and in two or more, are their frame.
        words: How many words in a row are a copy, at least 1.

    Returns:
        The copies of each text in its order; passages of one task that overlap or touch are one.
    """
    old = {passage.key for passage in _passages(_units(known), words=words)}
    split = [_spans(text) for text in texts]
    found = [[passage for passage in _passages(units, words=words) if passage.key not in old] for _, units, _ in split]
    owners = _owners(found, tasks, words=words)
    return tuple(
        _joined(text, spans, [(passage, owners[passage.key]) for passage in passages if passage.key in owners])
        for (text, _, spans), passages in zip(split, found, strict=True)
    )


def _owners(found: Iterable[Iterable[_Passage]], tasks: Sequence[Task], *, words: int) -> dict[str, str]:
    """Return, for each passage that is a copy, the id of the first task that has it."""
    full, parts = set[str](), set[str]()
    for passages in found:
        for passage in passages:
            parts.add(passage.key)
            if passage.full:
                full.add(passage.key)
    holders: dict[str, list[str]] = {}
    whole: dict[str, list[str]] = {}
    if parts:
        starts = {key.partition(" ")[0] for key in full}
        for task in tasks:
            rows, short = _shared(task, full, parts, words=words, starts=starts)
            for key in rows:
                holders.setdefault(key, []).append(task.id)
            for key in short:
                whole.setdefault(key, []).append(task.id)
    owners = {key: ids[0] for key, ids in whole.items() if len(ids) == 1}
    return owners | {key: ids[0] for key, ids in holders.items() if len(ids) == 1 or 2 * len(ids) < len(tasks)}


def _shared(
    task: Task, full: AbstractSet[str], parts: AbstractSet[str], *, words: int, starts: AbstractSet[str]
) -> tuple[set[str], set[str]]:
    """Return which passages a task has in its longer texts, and which of its short texts are among them, whole."""
    rows, short = set[str](), set[str]()
    for text in _leaves(dict(task.fields)):
        units = _units(text)
        if len(units) < words * _WORD and sum(map(_weight, units)) < words * _WORD:
            key = " ".join(units)
            if key in parts and _length(units) >= SHORTEST_COPY:
                short.add(key)
        elif not starts.isdisjoint(units):
            rows |= {key for key in _rows(units, words=words, starts=starts) if key in full}
    return rows, short


def _joined(text: str, spans: Sequence[tuple[int, int]], copies: Iterable[tuple[_Passage, str]]) -> tuple[Copy, ...]:
    """Return the copies, those of one task that overlap or touch as one."""
    runs: dict[str, list[list[int]]] = {}
    for passage, owner in copies:
        own = runs.setdefault(owner, [])
        if own and passage.first <= own[-1][1] + 1:
            own[-1][1] = max(own[-1][1], passage.last)
        else:
            own.append([passage.first, passage.last])
    ordered = sorted((first, last, owner) for owner, own in runs.items() for first, last in own)
    return tuple(Copy(owner, text[spans[first][0] : spans[last][1]]) for first, last, owner in ordered)


def _passages(units: Sequence[str], *, words: int) -> Iterator[_Passage]:
    """Yield, from every unit on, all beginnings of a passage and the passage itself, in the order of the text."""
    for first in range(len(units)):
        key, weight = "", 0
        for last in range(first, len(units)):
            key = f"{key} {units[last]}" if key else units[last]
            weight += _weight(units[last])
            yield _Passage(key, first, last, weight >= words * _WORD)
            if weight >= words * _WORD:
                break


def _rows(units: Sequence[str], *, words: int, starts: AbstractSet[str]) -> Iterator[str]:
    """Yield every passage with as many words as a copy takes that begins with one of these units."""
    weights = list(map(_weight, units))
    last = weight = 0
    for first, unit in enumerate(units):
        while weight < words * _WORD and last < len(units):
            weight += weights[last]
            last += 1
        if weight < words * _WORD:
            return
        if unit in starts:
            yield " ".join(units[first:last])
        weight -= weights[first]


def _spans(text: str) -> tuple[str, list[str], list[tuple[int, int]]]:
    """Return a text in the form whose offsets count, its units, and where each of them stands."""
    text = unicodedata.normalize("NFC", text)
    spans = [found.span() for found in _UNIT.finditer(text)]
    return text, [_folded(text[start:end]) for start, end in spans], spans


def _units(text: str) -> list[str]:
    """Return the words of a text, and the characters of scripts without spaces, as they are compared."""
    if text.isascii():
        return _UNIT.findall(text.lower())
    return [_folded(unit) for unit in _UNIT.findall(unicodedata.normalize("NFC", text))]


def _folded(unit: str) -> str:
    return unit.lower() if unit.isascii() else unicodedata.normalize("NFC", unit.casefold())


def _weight(unit: str) -> int:
    return 1 if not unit.isascii() and _UNSPACED_UNIT.match(unit) else _WORD


def _length(units: Iterable[str]) -> int:
    return sum(2 if _UNSPACED_UNIT.match(unit) else len(unit) for unit in units)


def _leaves(value: JsonValue) -> Iterator[str]:
    """Yield every text and number in a task's fields."""
    match value:
        case bool() | None:
            pass
        case str():
            yield value
        case int() | float():
            yield str(value)
        case list():
            for item in value:
                yield from _leaves(item)
        case dict():
            for item in value.values():
                yield from _leaves(item)
