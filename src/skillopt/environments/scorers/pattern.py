"""The scorer whose accepted answers are regular expressions.

A regular expression that does not compile is an error of the data, found before training; it is never a silent zero.
One that takes too long on an answer leaves the task unmeasured (`patterns.py`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from skillopt.environments.patterns import check_pattern, matches
from skillopt.environments.scorers.base import Scorer, data_error, gold_texts, shown, verdict
from skillopt.types import Score, Task, Trajectory

PatternMatch: TypeAlias = Literal["full", "search"]

LONGEST_SEARCHED = 10_000
"""Characters of an answer that are matched, counted from its end."""

GOLD_PLACE = "{answer}"
"""Stands in a `pattern` setting for the task's own answer, taken literally."""


@dataclass(frozen=True)
class Pattern(Scorer):
    """Solved if the answer matches; no partial credit.

    Attributes:
        pattern: One expression for all tasks, in which `{answer}` stands for the task's answer taken literally; "" if
            each task's answer is itself the expression.
        match: "full" if the whole answer must match, "search" if a part is enough.
    """

    pattern: str = ""
    match: PatternMatch = "full"

    @property
    def rule(self) -> str:
        """The expression, where it is one for all."""
        how = "matches" if self.match == "full" else "contains a match of"
        return f"it {how} " + (f"the pattern {shown(self.pattern)}" if self.pattern else "the task's expected pattern")

    @property
    def same_for_all(self) -> bool:
        """Whether the expression asks every task for the same, so that it can only reward a shape."""
        return bool(self.pattern) and GOLD_PLACE not in self.pattern

    def check(self, task: Task) -> None:
        """Every expression must compile. A pattern that is the same for all tasks needs no `answer`."""
        for expression in self._expressions(task):
            try:
                check_pattern(expression)
            except ValueError as error:
                raise data_error(task, f"the answer {shown(expression)!r} is no regular expression: {error}") from error

    def score(self, predicted: str, task: Task, trajectory: Trajectory) -> Score:
        """Match each expression against the answer.

        Raises:
            PatternTimeout: If one takes too long on it.
        """
        text = predicted[-LONGEST_SEARCHED:]
        expressions = self._expressions(task)
        solved = any(matches(expression, text, whole=self.match == "full") for expression in expressions)
        note = "the expected answer is a regular expression"
        score = verdict(expressions, predicted, soft=float(solved), hard=solved, note=note)
        # An expression is nothing to copy: told as the expected answer, it would be answered with.
        return replace(score, expected="")

    def _expressions(self, task: Task) -> tuple[str, ...]:
        if self.same_for_all:
            return (self.pattern,)
        golds = gold_texts(task)
        return tuple(self.pattern.replace(GOLD_PLACE, re.escape(gold)) for gold in golds) if self.pattern else golds
