"""Laws of the gate with criteria, guards and fresh passes, over any scores."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.values import rollout

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.results import Candidate
from skillopt.skill.document import Skill
from skillopt.state import Measured, State
from skillopt.step.gate import decide, gate
from skillopt.types import Decision, Place, Rollout, Task

SHARE = st.sampled_from([0.0, 0.1, 0.2, 0.3, 1 / 3, 2 / 3, 1.0])
TASK = st.tuples(SHARE, SHARE)
"""The criteria `right` and `form` of one task."""
PAIRS = st.lists(st.tuples(TASK, TASK), min_size=1, max_size=6)
RIGHT = EvaluationSettings(criterion="right")


def scored(number: int, criteria: tuple[float, float], repeat: int = 0) -> Rollout:
    """A rollout whose hard and soft scores say nothing of its criteria."""
    one = rollout(number, int(criteria[0] < 0.5), 0.5)
    assert one.score is not None
    return replace(one, repeat=repeat, score=replace(one.score, criteria={"right": criteria[0], "form": criteria[1]}))


def side(tasks: Sequence[tuple[float, float]], repeat: int = 0) -> tuple[Rollout, ...]:
    return tuple(scored(number, criteria, repeat) for number, criteria in enumerate(tasks))


def decided(current: Sequence[Rollout], candidate: Sequence[Rollout], evaluation: EvaluationSettings) -> Decision:
    now = Measured(Skill.parse("current"), tuple(current))
    return decide(now, now, candidate, candidate=Skill.parse("candidate"), evaluation=evaluation)


class Scripted:
    """A run whose target is a list of rollouts."""

    acceptance = None

    def __init__(self, rollouts: Sequence[Rollout], evaluation: EvaluationSettings) -> None:
        self.config = SimpleNamespace(evaluation=evaluation)
        self.selection = tuple(one.task for one in rollouts)
        self._rollouts = rollouts

    async def measure(self, skill: Skill, tasks: Sequence[Task], place: Place, **_: Any) -> tuple[Rollout, ...]:
        return tuple(self._rollouts[self.selection.index(task)] for task in tasks)

    def ends_training(self, _: State) -> bool:
        return True

    def emit(self, event: object) -> None:
        pass


def gated(current: Sequence[Rollout], candidate: Sequence[Rollout], evaluation: EvaluationSettings) -> Decision:
    now = Measured(Skill.parse("current"), tuple(current))
    at = State(seed=now, current=now, best=now, epoch=1, step=1)
    changed = Candidate(Skill.parse("candidate"), changed=True)
    return asyncio.run(gate(Scripted(candidate, evaluation), at, changed))  # type: ignore[arg-type]


@given(PAIRS, st.sampled_from([0.0, 0.1, 0.3, 1.0]))
def test_a_guard_only_ever_takes_acceptances_away(pairs: list[Any], tolerance: float) -> None:
    """F24: what the strict rule rejects no guard accepts, and a guard that allows everything changes nothing."""
    before, after = zip(*pairs, strict=True)
    guarded = RIGHT.model_copy(update={"guards": {"form": tolerance}})
    plain, stricter = (decided(side(before), side(after), one) for one in (RIGHT, guarded))
    assert plain.accepted or not stricter.accepted
    if plain.accepted:
        fall = sum(one[1] - two[1] for one, two in pairs) / len(pairs)
        assert stricter.accepted == (fall <= tolerance + 1e-9)
    assert stricter.accepted == plain.accepted if tolerance == 1.0 else True


@given(PAIRS)
def test_the_deciding_criterion_alone_says_what_is_higher(pairs: list[Any]) -> None:
    before, after = zip(*pairs, strict=True)
    higher = round(sum(task[0] for task in after) - sum(task[0] for task in before), 9) > 0
    assert decided(side(before), side(after), RIGHT).accepted == higher


@settings(max_examples=60)
@given(PAIRS, st.integers(1, 4), st.booleans(), st.integers(0, 3), st.data())
def test_stopping_early_changes_no_decision_with_guards_and_fresh_passes(
    pairs: list[Any], block: int, guarded: bool, fresh: int, data: st.DataObject
) -> None:
    """The current skill may have more passes than the candidate: means are compared."""
    guards = {"form": 0.1} if guarded else {}
    evaluation = RIGHT.model_copy(update={"gate_block": block, "guards": guards})
    before, after = zip(*pairs, strict=True)
    more = [data.draw(st.lists(TASK, min_size=len(before), max_size=len(before))) for _ in range(fresh)]
    current = [*side(before), *(one for number, tasks in enumerate(more, start=1) for one in side(tasks, number))]
    early, full = gated(current, side(after), evaluation), decided(current, side(after), evaluation)
    assert (early.action, early.new_best, early.total) == (full.action, full.new_best, len(pairs))
    assert early.measured <= len(pairs)
    if early.candidate_score is None:
        assert early.upper_bound is not None
        assert early.upper_bound <= early.current_score
    else:
        assert early.sign_test == full.sign_test
