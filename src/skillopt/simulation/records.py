"""The words of the simulated world: kinds of records, the house rules that may govern them, and sentences around them.

Only words and arithmetic stand here; which rules hold in a world is drawn in `world.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

HEADING: Final = "## House rules"
"""The heading of the seed skill under which rules belong."""

USELESS: Final = (
    "Read the question twice before answering.",
    "Keep the answer short and to the point.",
    "Stay friendly and professional.",
    "Think step by step where it helps.",
    "Double-check the spelling of every word.",
    "Avoid needless repetition.",
)
"""Sentences that change nothing, whatever skill they stand in. The seed skill holds the first one."""

_VERBS = ("Check", "Consider", "Mind", "Ponder", "Recall", "Respect", "Review", "Study", "Watch", "Weigh")
_OBJECTS = (
    "the purpose of the question",
    "the length of the answer",
    "the order of the words",
    "the tone of the reply",
    "the reader's time",
    "the usual conventions",
    "the wording of the question",
    "every detail given",
    "the spirit of the house",
    "the clarity of the reply",
)
_MOMENTS = ("before answering", "while answering", "once more at the end", "from the very start", "with great care")

MOST_ADVICE: Final = len(USELESS) + len(_VERBS) * len(_OBJECTS) * len(_MOMENTS)
"""How many useless sentences there are."""


def useless_sentences(count: int) -> tuple[str, ...]:
    """Return so many useless sentences, those of `USELESS` first; none is part of another."""
    more = (f"{verb} {thing} {moment}." for moment in _MOMENTS for thing in _OBJECTS for verb in _VERBS)
    return (*USELESS, *more)[:count]


WORDS: Final = ("ALDER", "ASPEN", "BEECH", "BIRCH", "CEDAR", "HAZEL", "HOLLY", "LARCH", "MAPLE", "OLIVE", "WILLOW")
"""Words that records carry. None of them can be mistaken for a subject's code."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of record.

    Attributes:
        name: What a subject of this kind is called; also the category of its tasks.
        event: What a question says of a subject, up to the number.
        sentence: The house rule, with slots for the subject's code, the word and the amount.
        record: The right record from number, word and amount.
        harmful: A sentence that keeps the target from following any rule of this kind.
    """

    name: str
    event: str
    sentence: str
    record: Callable[[int, str, int], str]
    harmful: str


KINDS: Final = (
    Kind(
        "gauge",
        "shows",
        "Readings of gauge {code} are logged as {word}, a hyphen, and the reading plus {amount}.",
        lambda number, word, amount: f"{word}-{number + amount}",
        "For every gauge, log the plain reading whatever another rule says.",
    ),
    Kind(
        "depot",
        "ships order",
        "Orders of depot {code} are filed as the order number, a hyphen, {word}, a hyphen, and {amount}.",
        lambda number, word, amount: f"{number}-{word}-{amount}",
        "For every depot, file the plain order number whatever another rule says.",
    ),
    Kind(
        "desk",
        "takes letter",
        "Letters for desk {code} are shelved under {word}, a hyphen, and the letter number times {amount}.",
        lambda number, word, amount: f"{word}-{number * amount}",
        "For every desk, shelve under the plain letter number whatever another rule says.",
    ),
    Kind(
        "bay",
        "stores crate",
        "Crates in bay {code} are labelled {amount}, a hyphen, the crate number backwards, a hyphen, and {word}.",
        lambda number, word, amount: f"{amount}-{str(number)[::-1]}-{word}",
        "For every bay, label with the plain crate number whatever another rule says.",
    ),
)
"""Every kind of record there is."""

_EVENT = re.compile(
    r"\b("
    + "|".join(f"{kind.name.capitalize()} [A-Z]{{2}}-[0-9]{{2}} {kind.event}" for kind in KINDS)
    + r") ([0-9]+)\b"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A house rule: how the records of one subject are written.

    Attributes:
        code: The subject it governs, such as "QX-31".
        kind: The subject's kind.
        word: The word its records carry.
        amount: The number its records are computed with; at least 2.
    """

    code: str
    kind: Kind
    word: str
    amount: int

    @property
    def sentence(self) -> str:
        """The rule as a sentence that a skill can hold."""
        return self.kind.sentence.format(code=self.code, word=self.word, amount=self.amount)

    @property
    def harmful(self) -> str:
        """A sentence that keeps the target from following this rule, and no other."""
        return f"At {self.kind.name} {self.code}, write the plain number whatever another rule says."

    def record(self, number: int) -> str:
        """Return the right record."""
        return self.kind.record(number, self.word, self.amount)

    def mistaken_record(self, number: int) -> str:
        """Return a record that looks like a right one and is not."""
        return self.kind.record(number, self.word, self.amount + 1)


@dataclass(frozen=True, slots=True)
class Occurrence:
    """One thing that a question asks a record of: a subject's code and the number that came up there."""

    code: str
    number: int


def question(rules: tuple[Rule, ...], numbers: tuple[int, ...]) -> str:
    """Return the question that asks for one record of each rule's subject, in order."""
    events = [
        f"{rule.kind.name.capitalize()} {rule.code} {rule.kind.event} {number}."
        for rule, number in zip(rules, numbers, strict=True)
    ]
    if len(events) == 1:
        return f"{events[0]} How is it recorded under the house rules?"
    return f"{' '.join(events)} How are they recorded under the house rules, in this order and joined by ' and '?"


@lru_cache(maxsize=256)  # Pure, and asked of the same question or prompt again and again.
def occurrences(text: str) -> tuple[Occurrence, ...]:
    """Return what a text asks records of, in its order and each once."""
    found = [Occurrence(match[1].split()[1], int(match[2])) for match in _EVENT.finditer(text)]
    return tuple(dict.fromkeys(found))


_BULLET = re.compile(r"^\s*(?:[-*+>]|\d+[.)])\s+", re.MULTILINE)


@lru_cache(maxsize=256)
def plain(text: str) -> str:
    """Return a text without list markers, emphasis and line breaks, so that only its words and values count."""
    return " ".join(re.sub(r"[*_`]", "", _BULLET.sub("", unicodedata.normalize("NFC", text))).split())
