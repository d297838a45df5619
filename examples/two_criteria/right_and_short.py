"""A custom environment with two criteria: the reply must hold the right answer, and it must be short."""

from __future__ import annotations

import re

from skillopt import Environment, EnvironmentSettings, Message, Presentation, Score, Task, Trajectory
from skillopt.errors import DataError


class RightAndShortSettings(EnvironmentSettings):
    """The keys this environment adds to the `env` section."""

    most_words: int = 8
    """Words up to which a reply is short; one of twice as many counts half."""


class RightAndShort(Environment[RightAndShortSettings]):
    """Tasks with a `question` and the `answer` that the reply must hold as words of its own."""

    name = "right_and_short"
    version = "1"
    Settings = RightAndShortSettings

    @property
    def purpose(self) -> str:
        return (
            "The skill is the system message of a model that answers one question. A reply is scored on two criteria: "
            f"`right`, whether it holds the answer, and `short`, whether it has at most {self.settings.most_words} "
            "words. The skill cannot change the questions or the scoring."
        )

    def check(self, task: Task) -> None:
        missing = [name for name in ("question", "answer") if not str(task.fields.get(name) or "").strip()]
        if missing:
            raise DataError(f"{task.location}: task {task.id!r} has no {missing[0]}")

    def present(self, task: Task) -> Presentation:
        return Presentation((Message("user", str(task.fields["question"])),))

    def score(self, task: Task, trajectory: Trajectory) -> Score:
        answer, reply = str(task.fields["answer"]), trajectory.output
        right = re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", reply, re.IGNORECASE) is not None
        words = len(reply.split())
        short = min(1.0, self.settings.most_words / words) if words else 0.0
        return Score(
            hard=int(right and short == 1),
            soft=(right + short) / 2,
            feedback=f"Expected '{answer}' in at most {self.settings.most_words} words; the reply has {words}.",
            predicted=reply,
            criteria={"right": right, "short": short},
        )
