"""When a candidate is accepted: what a rule sees, the requirements beyond a higher score, rules of the user's own.

Everything here is a pure function of paired scores. The gate (`step/gate.py`) measures, asks, and puts the answer into
words; the rule that always holds, strictly higher, is there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType

from skillopt.environments.foreign import foreign_code, shape_of
from skillopt.environments.python_code import load_function
from skillopt.errors import EnvironmentLoadError
from skillopt.evaluation.repeats import by_task
from skillopt.evaluation.scores import GateMetric, criteria_means, exact, mean_gate_score
from skillopt.evaluation.statistics import paired_sign_test
from skillopt.types import Rollout, SignTest
from skillopt.wording import counted

_SHOWN_TASKS = 5
"""How many broken tasks a reason names."""


@dataclass(frozen=True, slots=True)
class TaskPair:
    """One selection task with the current skill and with the candidate.

    Attributes:
        task_id: The task's id.
        category: Its category; "" where it has none.
        before: Mean gate score with the current skill over its passes, 0 to 1.
        after: The same with the candidate.
        solved_before: Share of the passes in which the current skill solved it, 0 to 1.
        solved_after: The same with the candidate.
    """

    task_id: str
    category: str
    before: Fraction
    after: Fraction
    solved_before: Fraction
    solved_after: Fraction

    @property
    def broken(self) -> bool:
        """Whether the current skill solved it, in more than half of its passes, and the candidate does not."""
        half = Fraction(1, 2)
        return self.solved_before > half >= self.solved_after


@dataclass(frozen=True, slots=True)
class Comparison:
    """A candidate and the current skill on the whole selection split: all that an acceptance rule is given.

    Attributes:
        pairs: One for each selection task.
        current_skill: Text of the current skill.
        candidate_skill: Text of the candidate.
        criteria_before: Mean of each criterion with the current skill, 0 to 1, exact; empty where scores have none.
        criteria_after: The same with the candidate.
    """

    pairs: tuple[TaskPair, ...]
    current_skill: str
    candidate_skill: str
    criteria_before: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])
    criteria_after: Mapping[str, Fraction] = field(default_factory=dict[str, Fraction])

    @property
    def before(self) -> Fraction:
        """Mean gate score of the current skill, exact."""
        return sum((pair.before for pair in self.pairs), Fraction()) / len(self.pairs)

    @property
    def after(self) -> Fraction:
        """Mean gate score of the candidate, exact."""
        return sum((pair.after for pair in self.pairs), Fraction()) / len(self.pairs)

    @property
    def sign_test(self) -> SignTest:
        """The exact one-sided sign test on the tasks whose score changed."""
        return paired_sign_test([pair.before for pair in self.pairs], [pair.after for pair in self.pairs])

    @property
    def broken(self) -> tuple[str, ...]:
        """The ids of the tasks that the current skill solved and the candidate does not."""
        return tuple(pair.task_id for pair in self.pairs if pair.broken)


def compare(
    current_skill: str,
    candidate_skill: str,
    before: Sequence[Rollout],
    after: Sequence[Rollout],
    *,
    metric: GateMetric,
    weight: float,
) -> Comparison:
    """Pair what two skills did, task by task in the order of `before`.

    Raises:
        ValueError: If the two were not measured on the same tasks.
    """
    first, second = by_task(before), by_task(after)
    if first.keys() != second.keys():
        raise ValueError(f"{len(first)} and {len(second)} tasks are not the same tasks, so there are no pairs")

    def pair(task: str) -> TaskPair:
        gate = (mean_gate_score(side[task], metric, weight=weight) for side in (first, second))
        hard = (mean_gate_score(side[task], "hard", weight=weight) for side in (first, second))
        return TaskPair(task, first[task][0].task.category, *gate, *hard)

    means = (criteria_means(before), criteria_means(after))
    return Comparison(tuple(map(pair, first)), current_skill, candidate_skill, *means)


def unmet_requirement(
    comparison: Comparison,
    *,
    confidence: float | None,
    max_regressions: int | None,
    guards: Mapping[str, float] = MappingProxyType({}),
    name_tasks: bool = True,
) -> str:
    """Return why a candidate that scores strictly higher is not accepted all the same; "" where it is.

    Args:
        comparison: The candidate and the current skill.
        confidence: The exact one-sided sign test on the tasks that changed must have a p-value of at most
            1 - confidence; None asks for nothing.
        max_regressions: Most tasks that may break; None asks for nothing.
        guards: By how much the mean of each of these criteria may fall, 0 to 1.
        name_tasks: Whether the reason names the tasks that broke.
    """
    test, broken = comparison.sign_test, comparison.broken
    if confidence is not None and Fraction(test.p_value) > 1 - exact(confidence):
        return (
            f"{test.better} better and {test.worse} worse give p = {test.p_value:.3g} in the sign test, "
            f"above 1 - {confidence:g}"
        )
    if max_regressions is not None and len(broken) > max_regressions:
        more = f" and {len(broken) - _SHOWN_TASKS} more" if len(broken) > _SHOWN_TASKS else ""
        named = f" ({', '.join(broken[:_SHOWN_TASKS])}{more})" if name_tasks else ""
        return f"{counted(len(broken), 'solved task')} broke{named}, and at most {max_regressions} may"
    return "; ".join(filter(None, (_fallen(comparison, name, most) for name, most in guards.items())))


def _fallen(comparison: Comparison, name: str, most: float) -> str:
    """Return by how much a criterion falls, where that is more than it may; "" where it is not."""
    before, after = comparison.criteria_before[name], comparison.criteria_after[name]
    if before - after <= exact(most):
        return ""
    points = f"{100 * float(before - after):.1f} points, from {100 * float(before):.1f} % to {100 * float(after):.1f} %"
    return f"criterion {name} fell by {points}, and at most {100 * most:g} points are allowed"


def fewest_changes(confidence: float) -> int:
    """Return how many tasks must change, all of them for the better, before a sign test reaches a confidence.

    The least n with 1/2^n <= 1 - confidence.
    """
    changes = 0
    while Fraction(1, 2**changes) > 1 - exact(confidence):
        changes += 1
    return changes


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an acceptance rule says of a candidate.

    Attributes:
        accept: Whether it is accepted.
        reason: Why, in words; "" where it gives no reason.
        without_tasks: The same without what a selection task may hold, where that is less; else "".
    """

    accept: bool
    reason: str = ""
    without_tasks: str = ""


@dataclass(frozen=True)
class AcceptanceRule:
    """A Python function that decides in place of the strict rule.

    Attributes:
        name: The function's name.
        function: The function. It gets a `Comparison`; it returns whether the candidate is accepted, or that and a
            reason.
        sha256: Digest of the source file it comes from.
    """

    name: str
    function: Callable[..., object] = field(compare=False)
    sha256: str

    def decide(self, comparison: Comparison) -> Verdict:
        """Ask the function. The declared seam to foreign code: whatever it raises ends the run with its name.

        Raises:
            EnvironmentLoadError: If it raises, or returns anything but a truth value or one with a reason.
        """
        with foreign_code(f"the acceptance rule {self.name} raised "):
            returned = self.function(comparison)
        match returned:
            case bool():
                return Verdict(returned)
            case (bool() as accept, str() as reason):
                return Verdict(accept, reason)
            case _:
                raise EnvironmentLoadError(
                    f"the acceptance rule {self.name} returned {shape_of(returned)}",
                    hint="It must return True or False, or one of the two with a reason: (True, 'higher').",
                )


def load_acceptance(reference: str) -> AcceptanceRule:
    """Load the rule that `module:function` or `file.py:function` names.

    Raises:
        EnvironmentLoadError: If there is no such function, or it does not take a comparison alone.
    """
    loaded = load_function(reference, kind="acceptance rule")
    try:
        loaded.signature.bind(None)
    except TypeError as error:
        raise EnvironmentLoadError(
            f"acceptance rule {reference!r} cannot be called with a comparison alone: {error}",
            hint="Write it as: def rule(comparison): return comparison.after > comparison.before",
        ) from error
    return AcceptanceRule(loaded.name, loaded.function, loaded.sha256)
