"""What is known of a run from its events: the values that the terminal and the live page show.

They are made by `report/live.py`; nothing here knows of events as they come in, of clocks or of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from skillopt.events import RunEnded, RunStarted, Spent
from skillopt.report.course import StepPoint, StepVerdict

STAGES: Final = ("rollout", "reflect", "aggregate", "select", "update", "gate")
"""The six stages of a step, in their order."""

Verdict: TypeAlias = Literal[StepVerdict, "not applied"]
"""What became of an edit."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage of the step at work, or one between steps.

    Attributes:
        name: The stage.
        began: When, in seconds since 1970.
        done: Tasks, reflections or merges so far.
        total: As far as is known; 0 where there is nothing to count.
        outcomes: How many of those done ended how: solved, failed, unmeasured, done, dropped.
        recorded: How many of them the evidence answered.
        over: Whether another stage has begun since, or the step is final.
    """

    name: str
    began: float
    done: int = 0
    total: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict[str, int])
    recorded: int = 0
    over: bool = False

    def rate(self, now: float) -> float | None:
        """Return how many are done in a second, without what the evidence answered; None where none was."""
        new, seconds = self.done - self.recorded, now - self.began
        return new / seconds if new > 0 and seconds > 0 else None


@dataclass(frozen=True, slots=True)
class EditLine:
    """A selected edit of a step in a few words.

    Attributes:
        step: The step.
        operation: append, insert_after and so on.
        status: Its one end in the update, as in edit_apply_report.json.
        text: The beginning of what it writes, or deletes; hostile, to be shown as text.
        verdict: What became of it.
    """

    step: int
    operation: str
    status: str
    text: str
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Standing:
    """How the current and the best skill stand on the selection split.

    Attributes:
        metric: What the gate compares.
        current: Gate score of the current skill, 0 to 1.
        best: That of the best skill.
        current_solved: Selection rollouts that the current skill solved, over all passes that count.
        current_n: Of how many that is.
        best_solved: Those that the best skill solved.
        best_n: Of how many that is: the two may have been measured in different numbers of passes.
        best_step: The step that made the best skill, or that ended the epoch whose slow update did; 0 for the seed.
        best_origin: Which of them made it, as records say it.
    """

    metric: str
    current: float
    best: float
    current_solved: int
    current_n: int
    best_solved: int
    best_n: int
    best_step: int
    best_origin: str


@dataclass(frozen=True, slots=True)
class LimitUse:
    """A limit, by its key, and how much of it is used."""

    key: str
    used: float
    most: float


@dataclass(frozen=True, slots=True)
class LiveRun:
    """What is known of a run.

    Attributes:
        started: How it began; None before that.
        began: When this start of it began, in seconds since 1970.
        at: When the last event came.
        epoch: Of the step at work, or the last one; 0 for the baseline.
        step: The step at work, or the last one; 0 for the baseline.
        stages: Its stages so far, in the order in which they began; the last one is at work unless it is over.
        settled: Whether the step is final; stages that follow stand between steps.
        points: The baseline and each finished step.
        baseline: The scores of the seed; None before they are measured.
        standing: The scores as they stand; None before the baseline is measured.
        edits: The selected edits of the last steps, oldest first; at most 200.
        spent: Running totals; None before anything was counted.
        warnings: The last warnings; at most 50.
        warned: How many there were.
        ended: How it ended; None while it runs, or where it was killed.
        paid_steps: Finished steps of this start in which something was paid.
        paid_seconds: How long they took together.
        committed_at: When the last step became final.
        committed_paid: Calls that this start had paid by then.
    """

    started: RunStarted | None = None
    began: float = 0.0
    at: float = 0.0
    epoch: int = 0
    step: int = 0
    stages: tuple[Stage, ...] = ()
    settled: bool = False
    points: tuple[StepPoint, ...] = ()
    baseline: Standing | None = None
    standing: Standing | None = None
    edits: tuple[EditLine, ...] = ()
    spent: Spent | None = None
    warnings: tuple[str, ...] = ()
    warned: int = 0
    ended: RunEnded | None = None
    paid_steps: int = 0
    paid_seconds: float = 0.0
    committed_at: float = 0.0
    committed_paid: int = 0

    @property
    def total_steps(self) -> int:
        """Steps over all epochs; 0 before the start."""
        return self.started.total_steps if self.started else 0

    @property
    def at_work(self) -> Stage | None:
        """The stage at work; None between stages, and after the end."""
        return next((stage for stage in reversed(self.stages) if not stage.over), None)

    @property
    def shown_stages(self) -> tuple[tuple[str, Stage | None], ...]:
        """The six stages of the step, each as far as it has come; None for one that has not begun.

        Another one, such as the vetting of the edits, stands while it works where it came: behind those that had begun.
        Between steps there is what there is.
        """
        begun = {stage.name: stage for stage in self.stages}
        if not any(name in begun for name in STAGES):
            return tuple((stage.name, stage) for stage in self.stages)
        lines = [(name, begun.get(name)) for name in STAGES]
        other = self.at_work
        if other is not None and other.name not in STAGES:
            last = max(place for place, (name, _) in enumerate(lines) if name in begun)
            lines.insert(last + 1, (other.name, other))
        return tuple(lines)

    def seconds_left(self, now: float) -> float | None:
        """Return about how long the remaining steps take, the final test not counted; None where nobody can say yet.

        Steps that the evidence answered take no time, and say nothing of those to come.
        """
        done = self.points[-1].step if self.points else 0
        if not self.paid_steps or done >= self.total_steps or self.ended is not None:
            return None
        one = self.paid_seconds / self.paid_steps
        return max(0.0, one * (self.total_steps - done) - min(one, max(0.0, now - self.committed_at)))

    def limits(self, now: float) -> tuple[LimitUse, ...]:
        """Return how much of each limit that is set is used, by all starts of the run; of minutes, by this start."""
        if self.started is None:
            return ()
        return tuple(LimitUse(key, self._used(key, now), most) for key, most in self.started.limits.items() if most > 0)

    def _used(self, key: str, now: float) -> float:
        scope, _, amount = key.rpartition(".")
        if amount == "minutes":
            until = now if self.ended is None else self.at
            return max(0.0, until - self.began) / 60
        spent = self.spent
        if spent is None:
            return 0.0
        billed: Mapping[str, Mapping[str, float | None]] = {
            "calls": spent.billed_calls,
            "tokens": spent.billed_tokens,
            "dollars": spent.billed_dollars,
        }
        role = scope.removeprefix("limits").lstrip(".")
        return sum(used or 0.0 for name, used in billed.get(amount, {}).items() if role in ("", name))


NOTHING: Final = LiveRun()
"""What is known before the first event."""
