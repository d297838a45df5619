r"""The scorer for multiple choice: which option does an answer choose?

It reads `(B)`, `B.`, `**B**`, `Option B`, `\boxed{B}`, `Answer: B`, `(B) its text`, or the exact text of the option,
in either case. A letter that is only a word of the sentence ("A dog barked", "I think") chooses nothing, and an answer
that marks several options without saying which is the answer chooses none.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from string import ascii_uppercase

from skillopt.environments.extraction import last_boxed, tidy
from skillopt.environments.options import Option, task_options
from skillopt.environments.scorers.base import Scorer, data_error, gold_texts, shown, verdict
from skillopt.types import Score, Task, Trajectory

LONGEST_READ = 10_000
"""Characters of an answer that are read, counted from its end."""

_AROUND = " \t\r\n*_`~$\"'\u201c\u201d\u2018\u2019.,:;()[]{}"
_LATEX = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\{([^{}]*)\}")
_ANSWER_CUE = r"\banswer\b(?:\s+(?:is|was|must be|should be|would be))?(?:\s+(?:option|choice))?[\s:=*_`$\"'\u201c(\[]*"
_OPTION_CUE = r"\b(?:option|choice)[\s:*_`$\"'\u201c(\[]+"
_ENDS = r"(?=[\s*_`$\"'\u201d]*(?:[)\].:;,!?\n]|$)|\s+(?:because|since|as|is|which)\b)"
_WORDS = frozenset({"A", "I"})  # letters that are also English words
_LETTERS = tuple(Option(letter, letter) for letter in ascii_uppercase)


def chosen(answer: str, options: tuple[Option, ...]) -> str | None:
    """Return the label of the option that an answer chooses; None if it chooses none, or several.

    Args:
        answer: The target's answer.
        options: The task's options; () stands for the letters A to Z without texts.
    """
    options = options or _LETTERS
    text = last_boxed(answer[-LONGEST_READ:]) or answer[-LONGEST_READ:]
    text = _LATEX.sub(r"\1", text).strip()
    if same := _equal(tidy(text), options):
        return same[0] if len(same) == 1 else None
    labels = {option.label.casefold(): option.label for option in options}
    return _in_sentence(text, labels)


def _in_sentence(text: str, labels: dict[str, str]) -> str | None:
    """Find the label an answer chooses where it says more than that; `labels` are by their case-folded form."""
    one = "|".join(re.escape(label) for label in sorted(labels.values(), key=len, reverse=True))
    label = rf"(?P<label>{one})(?!\w)"
    said = list(re.finditer(rf"(?i:{_ANSWER_CUE}{label})(?i:(?P<ends>{_ENDS})|)", text))
    said = [match for match in said if match["ends"] is not None or _stands_alone(match["label"])]
    if said:
        return labels[said[-1]["label"].casefold()]
    marked = re.finditer(rf"(?i:\({label}\))|\*\*\(?(?i:(?P<bold>{one}))\)?[.:]?\*\*", text)
    found = {labels[(match["label"] or match["bold"]).casefold()] for match in marked}
    named = re.finditer(rf"(?i:{_OPTION_CUE}{label})(?i:(?P<ends>{_ENDS})|)", text)
    named = [match for match in named if match["ends"] is not None or match["label"].isupper()]
    found |= {labels[match["label"].casefold()] for match in named}
    leading = re.match(rf"(?i:[\s*_`(\[\"'“]*{label}[*_`]*(?:[):\]]|\.(?=\s|$)|,\s|\s*[-\u2013\u2014]\s|\s*\n))", text)
    if leading:
        found.add(labels[leading["label"].casefold()])
    if not found and (first := re.match(rf"{label}(?=\s)", text)) and _stands_alone(first["label"]):
        found.add(labels[first["label"].casefold()])
    return found.pop() if len(found) == 1 else None


def _stands_alone(label: str) -> bool:
    """Whether a label with prose right behind it is a label all the same, and not a word of the prose."""
    return len(label) == 1 and label.isupper() and label not in _WORDS


def _equal(text: str, options: tuple[Option, ...]) -> list[str]:
    """Return the labels of the options that a text is, by label or else by what they say."""
    bare = _bare(text)
    by_label = [option.label for option in options if bare in (_bare(option.label), _bare(option.shown))]
    return by_label or [option.label for option in options if bare == _bare(option.text)]


def _bare(text: str) -> str:
    return " ".join(text.strip(_AROUND).casefold().split())


@dataclass(frozen=True)
class Choice(Scorer):
    """Solved if the chosen option is an expected one; no partial credit."""

    @property
    def rule(self) -> str:
        """The option."""
        return "it chooses the expected option, by its label or its exact text"

    def check(self, task: Task) -> None:
        """Every accepted answer must be the label or the text of one of the task's options."""
        self._golds(task, self._options(task))

    def score(self, predicted: str, task: Task, trajectory: Trajectory) -> Score:
        """Compare the chosen option with the expected ones."""
        options = self._options(task)
        golds = self._golds(task, options)
        choice = chosen(predicted, options)
        by_label = {option.label: option.shown for option in options}
        wanted = [by_label.get(gold, f"({gold})") for gold in golds]
        note = "" if not predicted else "it chooses no single option"
        if choice is not None:
            read = by_label.get(choice, f"({choice})")
            note = "" if read == predicted else f"option {shown(read, 80)}"
        solved = choice in golds
        return verdict(wanted, predicted, soft=float(solved), hard=solved, note=note)

    def _options(self, task: Task) -> tuple[Option, ...]:
        try:
            return task_options(task)
        except ValueError as error:
            raise data_error(task, str(error)) from error

    def _golds(self, task: Task, options: tuple[Option, ...]) -> tuple[str, ...]:
        labels: list[str] = []
        for text in gold_texts(task):
            label = _gold_label(text, options)
            if label is None:
                known = ", ".join(option.label for option in options) or "A to Z"
                raise data_error(
                    task,
                    f"the answer '{shown(text)}' is not the label or the text of one option",
                    hint=f"The labels are {known}.",
                )
            labels.append(label)
        return tuple(labels)


def _gold_label(text: str, options: tuple[Option, ...]) -> str | None:
    """Read a gold answer, which must be a label or an option and nothing else."""
    found = _equal(text, options or _LETTERS)
    return found[0] if len(found) == 1 else None
