"""Tasks, rollouts and edits in one line each."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from skillopt.skill.document import Skill
from skillopt.state import Measured, State
from skillopt.types import Edit, EditOperation, Failure, Message, Patch, Rollout, Score, SourceType, Task, Trajectory


def task(number: int) -> Task:
    """The task `tN`: the question `qN` with the answer `aN`."""
    return Task(f"t{number}", {"question": f"q{number}", "answer": f"a{number}"})


def rollout(number: int, hard: int = 0, soft: float | None = None, *, said: str = "", feedback: str = "") -> Rollout:
    """What the target did on task N and how it was scored."""
    turns = (Message("user", f"q{number}"), Message("assistant", said or f"said to q{number}"))
    score = Score(hard, float(hard) if soft is None else soft, feedback or f"Expected a{number}.")
    return Rollout(task(number), "digest", trajectory=Trajectory(turns, turns[-1].content), score=score)


def unmeasured(number: int) -> Rollout:
    """Task N, lost to an outage."""
    return Rollout(task(number), "digest", failure=Failure("error", "target", "TransientModelError", "outage"))


def measured(scores: Sequence[tuple[int, float] | int], text: str = "# Skill\n", *, step: int = 0) -> Measured:
    """A skill with its scores on the tasks 0, 1, ...: (hard, soft), or hard alone."""
    pairs = [(score, float(score)) if isinstance(score, int) else score for score in scores]
    return Measured(Skill.parse(text), tuple(rollout(number, *pair) for number, pair in enumerate(pairs)), step)


def state(
    scores: Sequence[tuple[int, float] | int] = (0, 0), text: str = "# Skill\n", *, budget: int = 4, step: int = 1
) -> State:
    """The state of a step whose current skill has these scores."""
    current = measured(scores, text)
    return State(seed=current, current=current, best=current, epoch=1, step=step, budget=budget)


def append(content: str, *, support: int = 1, source: SourceType = "failure", tasks: Sequence[int] = ()) -> Edit:
    """An edit that appends, made for these tasks."""
    ids = tuple(f"t{number}" for number in tasks)
    return Edit(EditOperation.APPEND, "", content, support_count=support, source_type=source, task_ids=ids, cited=ids)


def replace_edit(target: str, content: str, *, source: SourceType = "failure", tasks: Sequence[int] = ()) -> Edit:
    """An edit that replaces, made for these tasks."""
    ids = tuple(f"t{number}" for number in tasks)
    return Edit(EditOperation.REPLACE, target, content, source_type=source, task_ids=ids, cited=ids)


def patch(*edits: Edit, source: SourceType = "failure", tasks: Sequence[int] = ()) -> Patch:
    """A patch with these edits, from these tasks."""
    return Patch("why", edits, source, task_ids=tuple(f"t{number}" for number in tasks))


def mean(*scores: float) -> Fraction:
    """The exact mean of scores written as decimals."""
    return sum((Fraction(str(score)) for score in scores), Fraction()) / len(scores)
