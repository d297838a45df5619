"""What a scorer is, and the words all scorers share.

A scorer compares the answer that was found with the accepted ones. Its feedback states what was expected and what
came, and nothing else: advice is the optimizer's part.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from skillopt.digests import canonical_json
from skillopt.errors import DataError
from skillopt.types import JsonValue, Score, Task, Trajectory

LONGEST_SHOWN = 200
"""Characters of an expected or given answer that feedback shows."""

LONGEST_PREDICTED = 2000
"""Characters of the answer that a score keeps for reports."""


class Scorer(ABC):
    """A way to compare an answer with the accepted ones; a function of its arguments and its options alone."""

    @property
    @abstractmethod
    def rule(self) -> str:
        """What makes an answer right, as the end of the sentence "An answer is right if ..."."""

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """Which code scores, where the environment's version and settings do not say it."""
        return {}

    @abstractmethod
    def check(self, task: Task) -> None:
        """Raise `DataError` with the task's location if its `answer` is nothing this scorer can compare with."""

    @abstractmethod
    def score(self, predicted: str, task: Task, trajectory: Trajectory) -> Score:
        """Score an answer.

        Args:
            predicted: The answer that was found in the trajectory; "" where there was none.
            task: The task, with the accepted answers in its field `answer`.
            trajectory: What the target did, for scorers that look at more than the answer.
        """


def data_error(task: Task, message: str, *, hint: str = "") -> DataError:
    """Return the error for a task that cannot be used, with its place in front."""
    place = f"{task.location}: " if task.location else ""
    return DataError(f"{place}task {task.id!r}: {message}", hint=hint)


def gold_values(task: Task) -> tuple[JsonValue, ...]:
    """Return the accepted answers as they stand in the data: a list holds several, anything else is one.

    Raises:
        DataError: If there is none, or one is null or blank.
    """
    answer = task.fields.get("answer")
    golds = tuple(answer) if isinstance(answer, list) else (answer,)
    names = ", ".join(task.fields) or "none"
    if not golds or any(gold is None or (isinstance(gold, str) and not gold.strip()) for gold in golds):
        raise data_error(
            task,
            "the field 'answer' is missing or empty",
            hint=f"The task's fields are {names}; map one with env.fields: {{answer: NAME}}.",
        )
    return golds


def gold_texts(task: Task) -> tuple[str, ...]:
    """Return the accepted answers as text; numbers and truth values in their JSON form.

    Raises:
        DataError: If there is none, or one is null, blank, a list or an object.
    """
    return tuple(_text(task, gold) for gold in gold_values(task))


def _text(task: Task, gold: JsonValue) -> str:
    if isinstance(gold, str):
        return gold.strip()
    if isinstance(gold, (list, dict)):
        raise data_error(
            task,
            f"the answer {shown(canonical_json(gold))} is not text",
            hint="Use scorer json for objects, or give a list of texts for several accepted answers.",
        )
    return canonical_json(gold)


def shown(text: str, limit: int = LONGEST_SHOWN) -> str:
    """Return a text on one line, its middle left out if it is longer than `limit` characters."""
    return trimmed(text.replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t"), limit)


def trimmed(text: str, limit: int = LONGEST_PREDICTED) -> str:
    """Return a text, its middle left out if it is longer than `limit` characters."""
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def expected(golds: Sequence[str]) -> str:
    """Return the accepted answers for a sentence: 'a' or 'b' or 'c', at most three of them."""
    return _alternatives([f"'{shown(gold)}'" for gold in golds])


def _alternatives(texts: Sequence[str]) -> str:
    some = " or ".join(texts[:3])
    return some if len(texts) <= 3 else f"{some} (or {len(texts) - 3} more)"


def verdict(golds: Sequence[str], predicted: str, *, soft: float, hard: bool, note: str = "") -> Score:
    """Return a score with its one sentence of feedback.

    Args:
        golds: The accepted answers as a person would write them; none where no answer can be named.
        predicted: The answer that came.
        soft: Partial credit, 0 to 1.
        hard: Whether the task is solved.
        note: What else is known, such as how the answer was read; put in brackets.
    """
    bracket = f" ({note})" if note else ""
    if hard:
        feedback = f"Right: '{shown(predicted)}'{bracket}."
    else:
        came = f"the answer was '{shown(predicted)}'" if predicted else "no answer was found"
        feedback = f"Expected {expected(golds)}; {came}{bracket}." if golds else f"Wrong: {came}{bracket}."
    return Score(
        int(hard), soft, feedback, trimmed(predicted), _alternatives([shown(gold) for gold in golds]), note=note
    )
