"""Edits that say the same, merged without asking a model; the first, free part of stage 3.

Alike is not the same. "Round to 2 digits" and "Round to 3 digits" are 94 % alike and contradict each other. So two
texts count as one only if they are alike *and* all their words of weight are equal in the same order: every number,
code, name, negation, quotation and every other word but a short list that carries no meaning of its own. What is left
to differ are articles and the like, a plural, a sentence's first letter and the punctuation of plain words. An edit
kept apart without need costs a line in the optimizer's merge; one merged wrongly is a rule lost.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rapidfuzz import fuzz

from skillopt.types import Edit, EditOperation

# fmt: off
_WEIGHTLESS = frozenset((
    "a", "an", "the", "this", "that", "these", "those", "all", "each", "every", "always", "please", "simply", "also",
    "you", "your", "it", "its", "they", "them", "their", "is", "are", "be", "been", "being", "will", "shall", "should",
    "must", "do", "does", "make", "sure", "ensure", "in", "as", "of", "with",
))
# fmt: on
"""Words whose coming and going leaves an instruction what it is. No negation, number or direction is among them."""

_SYNONYMS = {
    "provide": "give",
    "produce": "give",
    "respond": "answer",
    "reply": "answer",
    "response": "answer",
    "employ": "use",
    "utilize": "use",
    "utilise": "use",
}
"""Words that optimizers exchange freely."""

_CONTRACTIONS = {"cannot": "can not", "can't": "can not", "won't": "will not", "shan't": "shall not"}
"""Negations that do not come apart by rule; all others end in n't."""

_LITERAL = re.compile(
    r"```.*?```|~~~.*?~~~|`[^`\n]+`"  # code
    r"|\"[^\"\n]+\"|(?<!\w)'[^'\n]+'(?!\w)"  # straight quotes, but no apostrophes
    r"|[\u201c\u201e][^\u201c\u201d\n]+[\u201c\u201d]|(?<!\w)\u2018[^\u2018\u2019\n]+\u2019(?!\w)"  # curved quotes
    r"|\u00ab[^\u00bb\n]+\u00bb|\u300c[^\u300d\n]+\u300d",  # guillemets, corner brackets
    re.DOTALL,
)
_BULLET = re.compile(r"^[ \t]*[-*+\u2022][ \t]+")
_EMPHASIS = re.compile(r"(?<![\w*])(\*\*|\*)(?=[^\s*])([^*\n]*[^\s*])\1(?![\w*])")
_SENTENCE_END = ".!?"
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
"""Letters with at most one apostrophe inside; every other token counts as a code."""


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text as it is compared.

    Attributes:
        plain: Its words and codes with single spaces, for the measure of likeness.
        weight: The part of them that must be equal, in order.
    """

    plain: str
    weight: tuple[str, ...]


def merge_duplicates(edits: Sequence[Edit], *, threshold: float) -> tuple[Edit, ...]:
    """Return the edits with exact and near duplicates merged into the first of their kind.

    Two edits are duplicates if they do the same operation, and their targets and their contents say the same. The
    merged edit keeps the text of the first; supports are summed, task ids united in order, and "failure" wins as the
    source. Order of first appearance is kept. Merging once more changes nothing.

    Args:
        edits: In the order of the patches.
        threshold: Likeness from which two texts may say the same, 0 to 100: normalised edit distance
            (`rapidfuzz.fuzz.ratio`) of the words. 100 merges texts that differ in no more than white space, Unicode
            form, list bullets, emphasis, closing punctuation and a sentence's first letter.
    """
    kept: list[Edit] = []
    readings: list[tuple[_Reading, _Reading]] = []
    for edit in edits:
        reading = _read_edit(edit)
        for index, other in enumerate(readings):
            if edit.operation is kept[index].operation and _say_the_same(reading, other, threshold):
                kept[index] = _merged(kept[index], edit)
                break
        else:
            kept.append(edit)
            readings.append(reading)
    return tuple(kept)


def _merged(first: Edit, second: Edit) -> Edit:
    return replace(
        first,
        support_count=first.support_count + second.support_count,
        source_type="failure" if "failure" in (first.source_type, second.source_type) else "success",
        task_ids=tuple(dict.fromkeys((*first.task_ids, *second.task_ids))),
        merge_level=max(first.merge_level, second.merge_level),
        cited=tuple(dict.fromkeys((*first.cited, *second.cited))),
    )


def _say_the_same(first: tuple[_Reading, _Reading], second: tuple[_Reading, _Reading], threshold: float) -> bool:
    return all(
        one.weight == other.weight and fuzz.ratio(one.plain, other.plain) >= threshold
        for one, other in zip(first, second, strict=True)
    )


def _read_edit(edit: Edit) -> tuple[_Reading, _Reading]:
    """Read target and content; the part that an operation does not use cannot tell two edits apart."""
    target = "" if edit.operation is EditOperation.APPEND else edit.target
    content = "" if edit.operation is EditOperation.DELETE else edit.content
    return _read(target), _read(content)


def _read(text: str) -> _Reading:
    text = unicodedata.normalize("NFC", text)
    words: list[str] = []
    position = 0
    for literal in _LITERAL.finditer(text):
        words += _words(text[position : literal.start()], after_literal=position > 0)
        words.append(literal[0])
        position = literal.end()
    words += _words(text[position:], after_literal=position > 0)
    weights = (_weight(word) for word in words)
    return _Reading(" ".join(words), tuple(weight for weight in weights if weight not in _WEIGHTLESS))


def _words(text: str, *, after_literal: bool) -> list[str]:
    """Return the words of a text without quotations: plain ones in lower case, codes and names as they stand."""
    if after_literal:
        text = text.lstrip(_SENTENCE_END)
    words: list[str] = []
    sentence_start = line_start = not after_literal
    for line in text.splitlines():
        prose = _BULLET.sub("", line) if line_start else line
        for token in _EMPHASIS.sub(r"\2", prose).split():
            words += _split(token, sentence_start=sentence_start)
            sentence_start = token[-1] in _SENTENCE_END
        sentence_start = line_start = True
    return words


def _split(token: str, *, sentence_start: bool) -> list[str]:
    """Return the words of one token; compounds of plain words and negations come apart.

    A code, number or name stays whole, with the comma or bracket beside it: "LAST, First" is not "LAST First".
    """
    bare = token.replace("\u2019", "'").strip("().,;:!?")
    if sentence_start and (bare[1:].islower() or bare == "A"):
        bare = bare.lower()
    if bare.lower() in _CONTRACTIONS:
        return _CONTRACTIONS[bare.lower()].split()
    if bare.endswith("n't"):
        return [bare.removesuffix("n't"), "not"]
    parts = bare.split("-")
    if all(part.islower() and _WORD.fullmatch(part) and len(part) > 1 for part in parts) or bare == "a":
        return parts
    return [token.rstrip(_SENTENCE_END) or token]


def _weight(word: str) -> str:
    """Return what must be equal of a word: a plain one without its plural, anything else as it stands."""
    if not (word.islower() and _WORD.fullmatch(word)) or word in _WEIGHTLESS:
        return word
    singular = word
    if word.endswith("ies") and len(word) > 4:
        singular = word.removesuffix("ies") + "y"
    elif word.endswith(("sses", "shes", "ches", "xes")):
        singular = word.removesuffix("es")
    elif word.endswith("s") and len(word) > 3 and not word.endswith(("ss", "us", "is")):
        singular = word.removesuffix("s")
    return _SYNONYMS.get(singular, singular)
