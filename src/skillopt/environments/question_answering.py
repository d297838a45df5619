"""Question answering, the environment that needs no code: a prompt, an answer found in the reply, a scorer.

A task has the fields `question` and `answer`; a list of answers means that any of them is right. What the data calls
otherwise is mapped by `env.fields`. The skill is no part of the prompt: the harness puts it ahead, as system message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

from pydantic import field_validator, model_validator

from skillopt.digests import digest
from skillopt.environments.base import Environment, Presentation
from skillopt.environments.extraction import Extraction, extract, has_tag
from skillopt.environments.prompt_template import placeholders, render
from skillopt.environments.scorers.base import data_error, shown
from skillopt.environments.scorers.json_fields import JsonFields
from skillopt.environments.scorers.pattern import GOLD_PLACE, Pattern
from skillopt.environments.scorers.python_function import PythonFunction
from skillopt.environments.scorers.settings import ScorerSettings, build_scorer
from skillopt.types import JsonValue, Message, Score, Task, Trajectory

_FOUND_IN: Mapping[Extraction, str] = {
    "auto": "what its last <answer> tag holds, or else its last line",
    "tag": "what its last <answer> tag holds",
    "last_line": "its last line",
    "json_field": "one field of the JSON object in it",
    "pattern": "the last match of a fixed pattern in it",
    "whole": "the whole of it",
}

_ENDED: Mapping[str, str] = {
    "length": "The reply was cut at its token limit.",
    "content_filter": "The provider's content filter withheld the reply.",
}
"""What feedback says of a reply that did not end by itself."""


class QuestionAnsweringSettings(ScorerSettings):
    """How a task is shown, where its answer is found, and how it is scored."""

    prompt: str = "{question}"
    """What the target is asked. {name} is a field of the task; {{name}} is the text {name} itself."""
    extraction: Extraction = "auto"
    """Where the answer is: auto (last answer tag, else last line), tag, last_line, json_field, pattern or whole."""
    answer_field: str = ""
    """For extraction json_field: the field that holds the answer, or a path such as result.value."""
    answer_pattern: str = ""
    """For extraction pattern: a regular expression; its last match counts, of which the first group if it has one."""

    @field_validator("prompt")
    @classmethod
    def _shows_the_task(cls, prompt: str) -> str:
        shown_fields = placeholders(prompt)
        if "answer" in shown_fields:
            raise ValueError(
                "it shows {answer}, the expected answer, to the target; write {{answer}} for the text itself"
            )
        if not shown_fields:
            raise ValueError("it shows no field of the task, so all tasks would look the same; put {question} in it")
        return prompt

    @model_validator(mode="after")
    def _extraction_is_complete(self) -> Self:
        for way, option in (("json_field", "answer_field"), ("pattern", "answer_pattern")):
            if (self.extraction == way) != bool(getattr(self, option)):
                raise ValueError(f"extraction {way} and {option} go together, and extraction is {self.extraction}")
        return self


class QuestionAnswering(Environment[QuestionAnsweringSettings]):
    """Questions with known answers."""

    name = "question_answering"
    version = "1"
    Settings = QuestionAnsweringSettings

    def __init__(self, settings: QuestionAnsweringSettings) -> None:
        super().__init__(settings)
        self.scorer = build_scorer(settings)

    @property
    def identity(self) -> Mapping[str, JsonValue]:
        """The settings; a scoring function counts by the bytes of its file and not by its path."""
        identity = dict(super().identity)
        if isinstance(self.scorer, Pattern) or self.settings.extraction == "pattern":
            identity["patterns"] = "regex"
        if isinstance(self.scorer, PythonFunction):
            identity["settings"] = self.settings.model_dump(mode="json", exclude={"scorer"})
            identity["scorer"] = dict(self.scorer.identity)
        return identity

    @property
    def purpose(self) -> str:
        """What the skill is for and what it cannot change."""
        asked = (
            "" if self.settings.prompt == "{question}" else f" Each task is put as: {shown(self.settings.prompt, 400)}."
        )
        found = "the whole reply" if self._takes_whole else _FOUND_IN[self.settings.extraction]
        return (
            "The skill is the system message of a model that answers one question at a time."
            f"{asked} The answer taken from its reply is {found}; it is right if {self.scorer.rule}. "
            "The skill cannot change the questions, the way they are put, or the scoring."
        )

    def check(self, task: Task) -> None:
        """Every field the prompt shows must be there, and the expected answer must suit the scorer."""
        self._prompt(task)
        self.scorer.check(task)

    def warnings(self, tasks: Sequence[Task]) -> tuple[str, ...]:
        """Say where a skill could win without doing the tasks, and where options are not shown."""
        found: list[str] = []
        if isinstance(self.scorer, Pattern) and self.scorer.same_for_all:
            found.append(
                f"env.pattern asks every task for the same ({shown(self.scorer.pattern)}), so it rewards the shape of "
                f"an answer and not whether it is right; put {GOLD_PLACE} where the task's answer belongs."
            )
        elif len(tasks) > 1 and len({digest(task.fields.get("answer")) for task in tasks}) == 1:
            found.append(
                f"All {len(tasks)} tasks expect the same answer, so a skill that just names it scores full marks."
            )
        unseen = (
            sum("options" in task.fields for task in tasks)
            if "options" not in placeholders(self.settings.prompt)
            else 0
        )
        if unseen:
            found.append(
                f"{unseen} of {len(tasks)} tasks have options that env.prompt does not show; put {{options}} in it."
            )
        return tuple(found)

    def present(self, task: Task) -> Presentation:
        """Return the filled-in prompt as the one user message."""
        return Presentation((Message("user", self._prompt(task)),))

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        """Find the answer in the target's final message and score it."""
        score = self.scorer.score(self._answer(trajectory.output), task, trajectory)
        ended = _ENDED.get(trajectory.finish_reason)
        if ended is None or score.hard:
            return score
        return replace(score, feedback=f"{score.feedback} {ended}".strip())

    @property
    def _takes_whole(self) -> bool:
        # A JSON object is seldom one line, so for it the whole reply stands in for the last line.
        return self.settings.extraction == "auto" and isinstance(self.scorer, JsonFields)

    def _answer(self, reply: str) -> str:
        settings = self.settings
        if self._takes_whole and not has_tag(reply):
            return extract(reply, "whole")
        return extract(reply, settings.extraction, field=settings.answer_field, pattern=settings.answer_pattern)

    def _prompt(self, task: Task) -> str:
        try:
            return render(self.settings.prompt, task)
        except ValueError as error:
            raise data_error(
                task, str(error), hint="Map the data's own names with env.fields, or correct env.prompt."
            ) from error
