"""Scorers that compare texts: equal after normalisation, token F1, edit similarity (ANLS).

Sources: SQuAD 1.1's normalisation and F1 (Rajpurkar et al. 2016); ANLS (Biten et al. 2019).
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rapidfuzz.distance import Levenshtein

from skillopt.environments.scorers.base import Scorer, data_error, gold_texts, shown, verdict
from skillopt.types import Score, Task, Trajectory

Normalise: TypeAlias = Literal["squad", "case", "spaces", "none"]
"""What two texts may differ in and still be equal."""

ANLS_SOLVED = 0.999
"""Similarity from which an answer counts as solved."""

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(?:a|an|the)\b")


def normalise_squad(text: str) -> str:
    """Lower case, no ASCII punctuation, no articles (a, an, the), single spaces."""
    bare = unicodedata.normalize("NFC", text).lower().translate(_NO_PUNCTUATION)
    return " ".join(_ARTICLES.sub(" ", bare).split())


def normalise_case(text: str) -> str:
    """Lower case and single spaces; punctuation counts."""
    return normalise_spaces(text).lower()


def normalise_spaces(text: str) -> str:
    """Single spaces and composed Unicode; case and punctuation count."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def normalise_none(text: str) -> str:
    """Only white space around the text is taken off; every character inside counts."""
    return text.strip()


_NORMALISE: Mapping[Normalise, Callable[[str], str]] = {
    "squad": normalise_squad,
    "case": normalise_case,
    "spaces": normalise_spaces,
    "none": normalise_none,
}
_RULES: Mapping[Normalise, str] = {
    "squad": "it equals an expected answer, apart from case, punctuation, articles and spacing",
    "case": "it equals an expected answer, apart from case and spacing",
    "spaces": "it equals an expected answer, apart from spacing; case and punctuation count",
    "none": "it equals an expected answer in every character",
}


def exact(predicted: str, gold: str, *, normalise: Normalise = "squad") -> bool:
    """Whether two texts are equal after normalisation."""
    same = _NORMALISE[normalise]
    return same(predicted) == same(gold)


def token_f1(predicted: str, gold: str) -> float:
    """Return SQuAD's token F1, 0 to 1: the harmonic mean of precision and recall over the bags of normalised words."""
    ours, theirs = normalise_squad(predicted).split(), normalise_squad(gold).split()
    if not ours or not theirs:
        return float(ours == theirs)
    common = (Counter(ours) & Counter(theirs)).total()
    return 2 * common / (len(ours) + len(theirs))


def anls(predicted: str, gold: str) -> float:
    """Return 1 - edit distance / longer length, 0 where that distance is half the length or more; case is ignored."""
    ours, theirs = (" ".join(text.lower().split()) for text in (predicted, gold))
    longer = max(len(ours), len(theirs))
    if longer == 0:
        return 1.0
    distance = Levenshtein.distance(ours, theirs)
    return 0.0 if 2 * distance >= longer else 1 - distance / longer


def _check_normalised(task: Task, normalise: Normalise, hint: str) -> None:
    """An expected answer of which nothing is left would equal any answer made of punctuation."""
    for gold in gold_texts(task):
        if not _NORMALISE[normalise](gold):
            raise data_error(task, f"nothing is left of the answer '{shown(gold)}' after normalisation", hint=hint)


@dataclass(frozen=True)
class Exact(Scorer):
    """Solved if equal to any accepted answer; no partial credit.

    Attributes:
        normalise: What the texts may differ in.
    """

    normalise: Normalise = "squad"

    @property
    def rule(self) -> str:
        """Equality, and what it overlooks."""
        return _RULES[self.normalise]

    def check(self, task: Task) -> None:
        """Every accepted answer must be a text of which something is left after normalisation."""
        _check_normalised(task, self.normalise, "Set env.normalise: spaces, so that punctuation counts.")

    def score(self, predicted: str, task: Task, trajectory: Trajectory) -> Score:
        """Compare with each accepted answer."""
        golds = gold_texts(task)
        solved = any(exact(predicted, gold, normalise=self.normalise) for gold in golds)
        return verdict(golds, predicted, soft=float(solved), hard=solved)


@dataclass(frozen=True)
class TokenF1(Scorer):
    """Solved if equal after SQuAD's normalisation; partial credit is the best token F1."""

    @property
    def rule(self) -> str:
        """Equality, with credit for words in common."""
        return f"{_RULES['squad']}; words in common with it earn partial credit"

    def check(self, task: Task) -> None:
        """Every accepted answer must be a text of which something is left after normalisation."""
        _check_normalised(task, "squad", "Use scorer exact with env.normalise: spaces, so that punctuation counts.")

    def score(self, predicted: str, task: Task, trajectory: Trajectory) -> Score:
        """Compare with each accepted answer and keep the best."""
        golds = gold_texts(task)
        solved = any(exact(predicted, gold) for gold in golds)
        best = max(token_f1(predicted, gold) for gold in golds)
        return verdict(golds, predicted, soft=best, hard=solved, note=f"token F1 {best:.2f}")


@dataclass(frozen=True)
class Anls(Scorer):
    """Solved at an edit similarity of 0.999; partial credit is the best similarity."""

    @property
    def rule(self) -> str:
        """Spelled like an expected answer."""
        return (
            "it is spelled like an expected answer, apart from case and spacing; a near spelling earns partial credit"
        )

    def check(self, task: Task) -> None:
        """Every accepted answer must be a text that is not blank."""
        gold_texts(task)

    def score(self, predicted: str, task: Task, trajectory: Trajectory) -> Score:
        """Compare with each accepted answer and keep the best."""
        golds = gold_texts(task)
        best = max(anls(predicted, gold) for gold in golds)
        return verdict(golds, predicted, soft=best, hard=best >= ANLS_SOLVED, note=f"similarity {best:.2f}")
