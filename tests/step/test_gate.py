"""Stage 6: the candidate replaces the current skill only if it scores strictly higher."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.bench import Bench, OpenBench, look_up, rule
from tests.support.values import append, rollout, unmeasured

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.errors import MeasurementError, TransientModelError
from skillopt.evaluation.acceptance import AcceptanceRule, Comparison
from skillopt.events import Event, StageStarted
from skillopt.models.base import ChatRequest
from skillopt.results import Candidate
from skillopt.simulation.scripted import Said
from skillopt.skill.document import Skill
from skillopt.state import Measured, State
from skillopt.step.gate import decide, gate, with_fresh_score
from skillopt.types import (
    Action,
    Decision,
    EditOutcome,
    EditState,
    Place,
    Rewrite,
    RewriteOutcome,
    Rollout,
    SignTest,
    Task,
)

Scores = Sequence[tuple[int, float] | int | None]
"""Of one task each: (hard, soft), or hard alone; None where it could not be measured."""

HARD = EvaluationSettings()
SOFT = EvaluationSettings(gate_metric="soft")


def rollouts(scores: Scores) -> tuple[Rollout, ...]:
    return tuple(
        unmeasured(number) if score is None else rollout(number, *((score,) if isinstance(score, int) else score))
        for number, score in enumerate(scores)
    )


def in_passes(scores: Scores, evaluation: EvaluationSettings) -> tuple[Rollout, ...]:
    """The scores of `evaluation.repeats` passes over the same tasks, one pass after the other."""
    each = len(scores) // evaluation.repeats
    return tuple(
        replace(one, repeat=repeat)
        for repeat in range(evaluation.repeats)
        for one in rollouts(scores[repeat * each : (repeat + 1) * each])
    )


def verdict(
    current: Scores,
    candidate: Scores,
    evaluation: EvaluationSettings = HARD,
    *,
    best: Scores | None = None,
    acceptance: AcceptanceRule | None = None,
) -> Decision:
    """What the gate decides on these scores."""
    return decide(
        Measured(Skill.parse("current"), in_passes(current, evaluation)),
        Measured(Skill.parse("best"), in_passes(current if best is None else best, evaluation)),
        in_passes(candidate, evaluation),
        candidate=Skill.parse("candidate"),
        evaluation=evaluation,
        acceptance=acceptance,
    )


# The rule


def test_strictly_higher_wins() -> None:
    decision = verdict([1, 0, 0], [1, 1, 0])
    assert (decision.action, decision.new_best) == (Action.ACCEPT_NEW_BEST, True)
    assert (decision.current_score, decision.candidate_score) == (Fraction(1, 3), Fraction(2, 3))
    assert decision.reason == "strictly higher: hard 2/3 (66.7 %) against 1/3 (33.3 %); 3 of 3 tasks measured"


def test_tie_keeps_the_current_skill() -> None:
    decision = verdict([1, 0, 0], [0, 0, 1])
    assert (decision.action, decision.new_best) == (Action.REJECT, False)
    assert decision.reason == "not strictly higher: hard 1/3 (33.3 %) against 1/3 (33.3 %); 3 of 3 tasks measured"


def test_what_got_worse_is_named_whatever_the_verdict() -> None:
    assert verdict([1, 0, 1], [0, 1, 1]).broken == ("t0",)
    assert verdict([1, 0, 0], [0, 1, 1]).broken == ("t0",)
    assert verdict([(0, 0.9), (0, 0.5)], [(0, 0.8), None], SOFT).broken == ("t0",)
    assert verdict([0, 0], [0, 1]).broken == ()


def test_lower_loses() -> None:
    assert verdict([1, 1], [1, 0]).action is Action.REJECT


def test_above_the_current_skill_and_not_above_the_best_is_accepted_as_no_best() -> None:
    """REFERENCE, appendix C."""
    decision = verdict([1, 0, 0], [1, 1, 0], best=[1, 1, 0])
    assert (decision.action, decision.accepted, decision.new_best) == (Action.ACCEPT, True, False)


@pytest.mark.parametrize(
    ("metric", "weight", "action"),
    [
        ("hard", 0.5, Action.REJECT),
        ("soft", 0.5, Action.ACCEPT_NEW_BEST),
        ("mixed", 0.5, Action.ACCEPT_NEW_BEST),
        ("mixed", 0.0, Action.REJECT),
    ],
)
def test_partial_credit_counts_where_the_metric_says_so(metric: Any, weight: float, action: Action) -> None:
    """F17: soft rises from .1 to .4 on each of four items, and no item is solved."""
    evaluation = EvaluationSettings(gate_metric=metric, gate_mixed_weight=weight)
    assert verdict([(0, 0.1)] * 4, [(0, 0.4)] * 4, evaluation).action is action


@pytest.mark.parametrize(("weight", "action"), [(0.5, Action.REJECT), (0.51, Action.ACCEPT_NEW_BEST)])
def test_the_weight_decides_between_solved_tasks_and_partial_credit(weight: float, action: Action) -> None:
    """One solved task against as much partial credit: a tie at one half."""
    evaluation = EvaluationSettings(gate_metric="mixed", gate_mixed_weight=weight)
    assert verdict([(1, 0.5), (0, 0.0)], [(0, 0.75), (0, 0.75)], evaluation).action is action


@pytest.mark.parametrize(
    ("current", "candidate"),
    [
        ([(0, 0.1), (0, 0.2)], [(0, 0.3), (0, 0.0)]),
        ([(0, 2 / 3)] * 3, [(0, 1.0), (0, 1.0), (0, 0.0)]),
        ([(0, 1 / 3)] * 3, [(0, 1.0), (0, 0.0), (0, 0.0)]),
        ([(0, 0.7), (0, 0.1)], [(0, 0.8), (0, 0.0)]),
    ],
)
def test_equal_sums_are_a_tie_in_both_directions(current: Scores, candidate: Scores) -> None:
    """Exact sums: in floats, 0.1 + 0.2 is more than 0.3."""
    assert verdict(current, candidate, SOFT).action is Action.REJECT
    assert verdict(candidate, current, SOFT).action is Action.REJECT


def test_a_score_of_zero_is_a_score() -> None:
    """More 3."""
    decision = verdict([0, 0], [0, 0])
    assert (decision.candidate_score, decision.measured) == (Fraction(0), 2)
    assert verdict([0, 0], [0, 1]).action is Action.ACCEPT_NEW_BEST


@pytest.mark.parametrize(
    ("candidate", "best", "new_best"),
    [([0, 0], [1, 0], False), ([1, 0], [1, 0], False), ([1, 1], [1, 0], True)],
)
def test_without_a_gate_the_score_is_recorded_and_the_candidate_accepted(
    candidate: Scores, best: Scores, new_best: bool
) -> None:
    """The best skill changes all the same only by a strictly higher score."""
    decision = verdict([1, 0], candidate, EvaluationSettings(use_gate=False), best=best)
    assert (decision.action, decision.accepted, decision.new_best) == (Action.FORCE_ACCEPT, True, new_best)
    assert decision.candidate_score is not None


def test_the_sign_test_is_over_the_tasks_that_changed() -> None:
    decision = verdict([0, 0, 0, 1, 1, 0], [1, 1, 1, 0, 1, 0])
    assert decision.sign_test == SignTest(3, 1, 5 / 16)
    assert verdict([1, 0], [1, 0]).sign_test == SignTest(0, 0, 1.0)


# What could not be measured


def test_nothing_measured_is_no_verdict() -> None:
    """F9: zero measured items are no comparison."""
    decision = verdict([0] * 4, [None] * 4)
    assert (decision.action, decision.accepted, decision.candidate_score) == (Action.SKIP_UNMEASURED, False, None)
    assert decision.reason == "4 of 4 selection tasks could not be measured: no verdict; 0 of 4 tasks measured"
    assert decision.sign_test is None


@pytest.mark.parametrize("use_gate", [True, False])
def test_one_missing_task_that_could_decide_is_no_verdict(use_gate: bool) -> None:
    """F14: neither a gain among those measured nor a skill that nobody measured is accepted."""
    decision = verdict([1, 0, 0], [1, 1, None], EvaluationSettings(use_gate=use_gate))
    assert (decision.action, decision.new_best) == (Action.SKIP_UNMEASURED, False)
    assert decision.upper_bound == 1


def test_what_cannot_win_whatever_is_missing_is_rejected() -> None:
    decision = verdict([1, 1, 0, 0], [0, 1, 0, None])
    assert decision.action is Action.REJECT
    assert decision.upper_bound == Fraction(1, 2)
    assert decision.reason == "at most 2/4 (50.0 %) was still possible, not above 2/4 (50.0 %); 3 of 4 tasks measured"


SCORE = st.sampled_from([(0, 0.0), (0, 0.1), (0, 0.2), (0, 0.3), (0, 1 / 3), (0, 2 / 3), (0, 0.9), (1, 1.0)])
EVALUATION = st.builds(
    EvaluationSettings,
    gate_metric=st.sampled_from(["hard", "soft", "mixed"]),
    gate_mixed_weight=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    gate_block=st.integers(1, 6),
    max_unmeasured=st.just(1.0),
)


@settings(max_examples=60)
@given(st.lists(st.tuples(SCORE, SCORE | st.none()), min_size=1, max_size=7), EVALUATION)
def test_a_rejection_holds_whatever_the_missing_tasks_would_have_scored(
    pairs: list[tuple[Any, Any]], evaluation: EvaluationSettings
) -> None:
    """F9, F14: it is the verdict of a full measurement in which all that is missing was solved."""
    current, candidate = zip(*pairs, strict=True)
    solved = [(1, 1.0) if score is None else score for score in candidate]
    decision, full = verdict(current, candidate, evaluation), verdict(current, solved, evaluation)
    assert (decision.action is Action.REJECT) == (full.action is Action.REJECT)
    assert decision.accepted == (full.accepted and None not in candidate)


# Measuring no more than it takes


class Scripted:
    """A stage context in which a candidate scores as told; it keeps which tasks were measured, block by block.

    The candidate's scores are those of its passes, one after the other.
    """

    def __init__(self, candidate: Scores, evaluation: EvaluationSettings) -> None:
        self.config = SimpleNamespace(evaluation=evaluation)
        self.acceptance: AcceptanceRule | None = None
        self._rollouts = in_passes(candidate, evaluation)
        self.selection = tuple(rollout.task for rollout in self._rollouts if not rollout.repeat)
        self.blocks: list[list[str]] = []
        self.events: list[Event] = []

    def ends_training(self, state: State) -> bool:
        return False

    async def measure(
        self, skill: Skill, tasks: Sequence[Task], place: Place, *, repeat: int = 0, **_: Any
    ) -> tuple[Rollout, ...]:
        self.blocks.append([task.id for task in tasks])
        first = repeat * len(self.selection)
        return tuple(self._rollouts[first + self.selection.index(task)] for task in tasks)

    def emit(self, event: Event) -> None:
        self.events.append(event)


def gated(current: Scores, candidate: Scores, evaluation: EvaluationSettings) -> tuple[Decision, list[list[str]]]:
    """The gate's decision and the blocks it measured for it."""
    run = Scripted(candidate, evaluation)
    now = Measured(Skill.parse("# Skill\n"), in_passes(current, evaluation))
    at = State(seed=now, current=now, best=now, epoch=1, step=1)
    decision = asyncio.run(gate(run, at, Candidate(Skill.parse("candidate"), changed=True)))  # type: ignore[arg-type]
    return decision, run.blocks


@given(st.lists(st.tuples(SCORE, SCORE), min_size=1, max_size=10), EVALUATION)
def test_stopping_early_never_changes_the_decision(
    pairs: list[tuple[Any, Any]], evaluation: EvaluationSettings
) -> None:
    """Any scores, any metric, any block size: the verdict is that of the full measurement."""
    current, candidate = zip(*pairs, strict=True)
    decision, blocks = gated(current, candidate, evaluation)
    full = verdict(current, candidate, evaluation)
    assert (decision.action, decision.new_best) == (full.action, full.new_best)
    assert decision.measured == sum(map(len, blocks)) == len({task for block in blocks for task in block})
    if decision.measured == len(pairs):
        assert decision.candidate_score == full.candidate_score
    else:
        assert decision.action is Action.REJECT
        assert decision.candidate_score is None
        assert decision.upper_bound is not None
        assert full.candidate_score is not None
        assert full.candidate_score <= decision.upper_bound <= decision.current_score


@settings(max_examples=60)
@given(st.integers(2, 3).flatmap(lambda repeats: st.tuples(st.just(repeats), passes_of(repeats))), EVALUATION)
def test_stopping_early_never_changes_the_decision_over_several_passes(
    drawn: tuple[int, list[tuple[Any, Any]]], evaluation: EvaluationSettings
) -> None:
    """F18, F23: the bound is over all rollouts that are still open, of whatever pass."""
    repeats, pairs = drawn
    evaluation = evaluation.model_copy(update={"repeats": repeats})
    current, candidate = zip(*pairs, strict=True)
    decision, _ = gated(current, candidate, evaluation)
    full = verdict(current, candidate, evaluation)
    assert (decision.action, decision.new_best, decision.total) == (full.action, full.new_best, len(pairs))
    if decision.candidate_score is None:
        assert full.candidate_score is not None
        assert decision.upper_bound is not None
        assert full.candidate_score <= decision.upper_bound <= decision.current_score
    else:
        assert (decision.candidate_score, decision.sign_test) == (full.candidate_score, full.sign_test)


def passes_of(repeats: int) -> st.SearchStrategy[list[tuple[Any, Any]]]:
    pair = st.tuples(SCORE, SCORE)
    return st.integers(1, 4).flatmap(lambda tasks: st.lists(pair, min_size=tasks * repeats, max_size=tasks * repeats))


def test_a_verdict_over_several_passes_is_on_means() -> None:
    """F23, F37: the candidate's first pass is lucky (3 of 3 against 1), and over three passes it is no better."""
    evaluation = EvaluationSettings(repeats=3)
    current = [1, 0, 0, 1, 1, 0, 1, 1, 0]
    assert verdict(current[:3], [1, 1, 1]).accepted
    decision = verdict(current, [1, 1, 1, 1, 0, 0, 1, 0, 0], evaluation)
    assert decision.action is Action.REJECT
    assert decision.reason == "not strictly higher: hard 5/9 (55.6 %) against 5/9 (55.6 %); 9 of 9 rollouts measured"
    assert decision.sign_test == SignTest(1, 1, 3 / 4)


def test_over_several_passes_the_draws_that_decide_soonest_go_first() -> None:
    """Two tasks, three passes: the one that the current skill never solves, pass by pass, then the other."""
    run_blocks = gated([1, 0] * 3, [0, 1] * 3, EvaluationSettings(repeats=3, gate_block=1))[1]
    assert run_blocks == [["t1"], ["t1"], ["t1"], ["t0"], ["t0"], ["t0"]]


@settings(max_examples=60)
@given(st.lists(st.tuples(SCORE, SCORE | st.none()), min_size=1, max_size=8), EVALUATION)
def test_missing_tasks_change_no_decision_either(pairs: list[tuple[Any, Any]], evaluation: EvaluationSettings) -> None:
    current, candidate = zip(*pairs, strict=True)
    decision, _ = gated(current, candidate, evaluation)
    assert decision.action is verdict(current, candidate, evaluation).action


def test_tasks_that_the_current_skill_fails_go_first() -> None:
    """They decide soonest; within them the order of the split holds."""
    current = [(1, 1.0), (0, 0.5), (0, 0.0), (1, 1.0), (0, 0.0)]
    _, blocks = gated(current, [1] * 5, SOFT.model_copy(update={"gate_block": 1}))
    assert [task for block in blocks for task in block] == ["t2", "t4", "t1", "t0", "t3"]


@pytest.mark.parametrize(("block", "paid"), [(2, [6]), (4, [6]), (8, [8]), (12, [12])])
def test_a_candidate_that_fails_everything_is_paid_for_half(block: int, paid: list[int]) -> None:
    """Of 12 tasks the current skill solves 6: after six failures nothing is left to win."""
    decision, blocks = gated([1] * 6 + [0] * 6, [0] * 12, EvaluationSettings(gate_block=block))
    assert [len(tasks) for tasks in blocks] == paid
    assert decision.action is Action.REJECT
    assert ("was still possible, not above 6/12 (50.0 %)" in decision.reason) == (paid != [12])


def test_tasks_that_cannot_stop_anything_yet_are_measured_together() -> None:
    """Five of six may still fail before a stop is possible, so the target is kept busy with all of them at once."""
    _, blocks = gated([1, 0, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0], EvaluationSettings(gate_block=1))
    assert [len(tasks) for tasks in blocks] == [5]
    _, blocks = gated([1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0], EvaluationSettings(gate_block=1))
    assert [len(tasks) for tasks in blocks] == [5, 1]


def test_without_a_gate_everything_is_measured_at_once() -> None:
    decision, blocks = gated([1] * 9, [0] * 9, EvaluationSettings(use_gate=False, gate_block=1))
    assert [len(tasks) for tasks in blocks] == [9]
    assert (decision.action, decision.candidate_score) == (Action.FORCE_ACCEPT, 0)


# Beyond strictly higher, where it is asked for


@pytest.mark.parametrize(
    ("confidence", "action"), [(0.0, Action.ACCEPT_NEW_BEST), (0.75, Action.ACCEPT_NEW_BEST), (0.9, Action.REJECT)]
)
def test_a_confidence_asks_for_a_sign_test_on_the_tasks_that_changed(confidence: float, action: Action) -> None:
    """F19: two tasks better and none worse have p = 1/4, which is exactly 1 - 0.75."""
    decision = verdict([0, 0, 0, 1], [1, 1, 0, 1], EvaluationSettings(confidence=confidence))
    assert decision.action is action
    if action is Action.REJECT:
        assert decision.reason == (
            "strictly higher, but 2 better and 0 worse give p = 0.25 in the sign test, above 1 - 0.9: "
            "hard 3/4 (75.0 %) against 1/4 (25.0 %); 4 of 4 tasks measured"
        )
        assert not decision.new_best


@pytest.mark.parametrize("confidence", [None, 0.75, 0.9])
@pytest.mark.parametrize("repeats", [1, 3])
def test_an_edit_that_changes_nothing_is_accepted_as_seldom_as_the_confidence_says(
    confidence: float | None, repeats: int
) -> None:
    """F19: 300 passes of the same skill against itself on 30 tasks that a coin decides, some of them loaded."""
    evaluation = EvaluationSettings(confidence=confidence, repeats=repeats)
    draw, chances, trials = random.Random(4), [0.1, 0.5, 0.9] * 10, 300 // repeats

    def scores() -> list[int]:
        return [int(draw.random() < chance) for _ in range(repeats) for chance in chances]

    accepted = sum(verdict(scores(), scores(), evaluation).accepted for _ in range(trials)) / trials
    level = 0.5 if confidence is None else 1 - confidence
    assert accepted <= level + 3 * (level * (1 - level) / trials) ** 0.5
    assert (accepted > 0.35) == (confidence is None)


@pytest.mark.parametrize(("most", "action"), [(0, Action.REJECT), (1, Action.ACCEPT_NEW_BEST)])
def test_only_so_many_solved_tasks_may_break(most: int, action: Action) -> None:
    """F24: what was solved is a guard; a partial loss on a task that was not solved breaks nothing."""
    evaluation = EvaluationSettings(max_regressions=most, gate_metric="soft")
    decision = verdict([(1, 1.0), (0, 0.5), (0, 0.0), (0, 0.0)], [(0, 0.0), (0, 0.4), (1, 1.0), (1, 1.0)], evaluation)
    assert decision.action is action
    if action is Action.REJECT:
        assert "strictly higher, but 1 solved task broke (t0), and at most 0 may: soft" in decision.reason


@settings(max_examples=60)
@given(st.lists(st.tuples(SCORE, SCORE), min_size=1, max_size=8), EVALUATION, st.booleans())
def test_a_requirement_only_ever_takes_acceptances_away(
    pairs: list[tuple[Any, Any]], evaluation: EvaluationSettings, with_confidence: bool
) -> None:
    current, candidate = zip(*pairs, strict=True)
    more = {"confidence": 0.8} if with_confidence else {"max_regressions": 0}
    asked = evaluation.model_copy(update=more)
    stricter, plain = verdict(current, candidate, asked), verdict(current, candidate, evaluation)
    assert plain.accepted or not stricter.accepted
    early, _ = gated(current, candidate, asked)
    assert (early.action, early.new_best) == (stricter.action, stricter.new_best)


def shorter(comparison: Comparison) -> tuple[bool, str]:
    """Ties are accepted if the skill gets shorter."""
    higher = comparison.after > comparison.before
    tie = comparison.after == comparison.before and len(comparison.candidate_skill) < len(comparison.current_skill)
    return higher or tie, "higher" if higher else "shorter" if tie else "neither higher nor shorter"


SHORTER = AcceptanceRule("shorter", shorter, "0" * 64)


def test_a_rule_of_the_users_own_decides_in_place_of_the_strict_one() -> None:
    """F38: ties are accepted if shorter; what is accepted at the best score is the best skill."""
    long = Measured(Skill.parse("a long current skill"), rollouts([1, 0]))

    def with_rule(scores: Scores) -> Decision:
        return decide(long, long, rollouts(scores), candidate=Skill.parse("short"), evaluation=HARD, acceptance=SHORTER)

    tie = with_rule([0, 1])
    assert (tie.action, tie.new_best) == (Action.ACCEPT_NEW_BEST, True)
    assert tie.reason == "shorter: shorter: hard 1/2 (50.0 %) against 1/2 (50.0 %); 2 of 2 tasks measured"
    assert with_rule([1, 1]).action is Action.ACCEPT_NEW_BEST
    lower = with_rule([0, 0])
    assert (lower.action, lower.reason.partition(" hard")[0]) == (
        Action.REJECT, "shorter: neither higher nor shorter:",
    )  # fmt: skip
    assert verdict([1, 0], [0, 1], acceptance=SHORTER).action is Action.REJECT


def test_a_rule_of_the_users_own_sees_every_task() -> None:
    """It may accept what the bound would have given up, so nothing is certain before the end."""
    run = Scripted([0, 0, 0, 0], EvaluationSettings(gate_block=1))
    run.acceptance = AcceptanceRule("any", lambda _: True, "0" * 64)
    now = Measured(Skill.parse("now"), rollouts([1, 1, 1, 1]))
    at = State(seed=now, current=now, best=now, epoch=1, step=1)
    decision = asyncio.run(gate(run, at, Candidate(Skill.parse("candidate"), changed=True)))  # type: ignore[arg-type]
    assert [len(tasks) for tasks in run.blocks] == [4]
    assert (decision.action, decision.new_best) == (Action.ACCEPT, False)
    assert verdict([1, 0], [1, None], acceptance=run.acceptance).action is Action.SKIP_UNMEASURED


def again(candidate: Scores, fresh: Scores, *, current: Scores, best: Scores, use_gate: bool = True) -> Decision:
    """What becomes of an acceptance when the candidate is measured again."""
    evaluation = EvaluationSettings(remeasure=True, use_gate=use_gate)
    first = verdict(current, candidate, evaluation, best=best)
    assert first.accepted
    return with_fresh_score(
        first, Measured(Skill.parse("best"), rollouts(best)), rollouts(fresh), evaluation=evaluation
    )


def test_the_fresh_score_of_an_accepted_skill_decides_on_the_best() -> None:
    """F37: it won by luck, goes on as the current skill with its fresh score, and is no best skill."""
    lucky = again([1, 1, 1, 0], [1, 0, 0, 0], current=[1, 0, 0, 0], best=[1, 0, 0, 0])
    assert (lucky.action, lucky.new_best, lucky.candidate_score) == (Action.ACCEPT, False, Fraction(3, 4))
    assert lucky.reason.endswith("4 of 4 tasks measured; measured again: 1/4 (25.0 %), the bar from now on")
    real = again([1, 1, 0, 0], [1, 1, 1, 0], current=[1, 0, 0, 0], best=[1, 1, 0, 0])
    assert (real.action, real.new_best, len(real.remeasured)) == (Action.ACCEPT_NEW_BEST, True, 4)
    forced = again([0, 0], [1, 1], current=[1, 0], best=[1, 0], use_gate=False)
    assert (forced.action, forced.new_best) == (Action.FORCE_ACCEPT, True)


# The gate in a run


async def current_of(bench: Bench, text: str) -> State:
    """The state in which a skill is the current one, measured on the selection split (tasks 4 to 7)."""
    skill = Skill.parse(text)
    now = Measured(skill, await bench.measure(skill, bench.selection, Place("baseline")))
    bench.target.requests.clear()
    return State(seed=now, current=now, best=now, epoch=1, step=2, budget=4)


def candidate(*lines: str) -> Candidate:
    return Candidate(Skill.parse("\n".join(lines) + "\n"), (EditOutcome(append("x"), EditState.APPLIED),), changed=True)


async def test_the_candidate_is_measured_on_the_selection_split(open_bench: OpenBench) -> None:
    bench = open_bench()
    at = await current_of(bench, rule(4))
    decision = await gate(bench, at, candidate(rule(4), rule(6)))
    assert (decision.action, decision.candidate_score) == (Action.ACCEPT_NEW_BEST, Fraction(1, 2))
    assert [one.task.id for one in decision.rollouts] == ["t5", "t6", "t7", "t4"]
    assert {request.place.stage for request in bench.target.requests} == {"gate"}
    assert StageStarted("gate", 1, 2, 4) in bench.events


async def test_the_measured_blocks_do_not_depend_on_who_finishes_first(open_bench: OpenBench) -> None:
    """More 14."""
    done = [asyncio.Event() for _ in range(9)]
    done[8].set()

    async def last_first(request: ChatRequest) -> Said:
        if request.place.stage == "gate":
            number = int(request.messages[-1].content[1:])
            await done[number + 1].wait()
            done[number].set()
        return look_up(request)

    settings_ = {"evaluation.gate_block": 4}
    forward, backward = (open_bench(target=script, settings=settings_) for script in (look_up, last_first))
    lines = (rule(5), rule(6))
    async with asyncio.timeout(10):
        decision = await gate(backward, await current_of(backward, rule(4)), candidate(*lines))
    assert decision == await gate(forward, await current_of(forward, rule(4)), candidate(*lines))


@pytest.mark.parametrize(
    ("outcomes", "action"),
    [
        ((), Action.SKIP_NO_PATCHES),
        ((EditOutcome(append("x"), EditState.UNMATCHED),), Action.SKIP_NO_CHANGE),
    ],
)
@pytest.mark.parametrize("use_gate", [True, False])
async def test_a_candidate_equal_to_the_current_skill_is_neither_measured_nor_judged(
    open_bench: OpenBench, outcomes: tuple[EditOutcome, ...], action: Action, use_gate: bool
) -> None:
    """F20."""
    bench = open_bench(settings={"evaluation.use_gate": use_gate})
    at = await current_of(bench, rule(4))
    decision = await gate(bench, at, Candidate(at.current.skill, outcomes, changed=False))
    assert (decision.action, decision.accepted, decision.candidate_score) == (action, False, None)
    assert (decision.rollouts, decision.sign_test, bench.target.requests) == ((), None, [])


@pytest.mark.parametrize(
    ("states", "action", "reason"),
    [
        ((EditState.INVALID,), Action.SKIP_NO_REWRITE, "no rewrite that can be used: it is invalid"),
        ((EditState.PROTECTED, EditState.OVER_BUDGET), Action.SKIP_NO_REWRITE, "it is protected; it is over_budget"),
        ((EditState.INVALID, EditState.DUPLICATE), Action.SKIP_NO_CHANGE, "the rewrite changes nothing"),
    ],
)
async def test_a_rewrite_that_makes_no_candidate_says_why(
    open_bench: OpenBench, states: tuple[EditState, ...], action: Action, reason: str
) -> None:
    """F51: the current skill stays, and nothing is measured."""
    bench = open_bench()
    at = await current_of(bench, rule(4))
    rewrites = tuple(RewriteOutcome(Rewrite(""), state, f"it is {state}") for state in states)
    suggested = (EditOutcome(append("x"), EditState.SUGGESTED),)
    decision = await gate(bench, at, Candidate(at.current.skill, suggested, rewrites=rewrites))
    assert (decision.action, bench.target.requests) == (action, [])
    assert reason in decision.reason


async def test_a_candidate_that_comes_back_is_not_paid_again(open_bench: OpenBench) -> None:
    bench = open_bench()
    at = await current_of(bench, rule(4))
    first = await gate(bench, at, candidate(rule(5)))
    bench.target.requests.clear()
    assert await gate(bench, replace(at, step=9), candidate(rule(5))) == first
    assert bench.target.requests == []


def losing(*numbers: int) -> Any:
    """A target that is down for some tasks, once the gate asks."""

    def script(request: ChatRequest) -> Said:
        lost = request.place.stage == "gate" and request.messages[-1].content in {f"q{number}" for number in numbers}
        return TransientModelError("down") if lost else look_up(request)

    return script


async def test_all_selection_tasks_lost_is_an_error_and_no_comparison(open_bench: OpenBench) -> None:
    """F9."""
    bench = open_bench(target=losing(4, 5, 6, 7))
    at = await current_of(bench, rule(4))
    with pytest.raises(
        MeasurementError, match=r"gate: 1 of 4 tasks could not be measured, none may be missing \(error in target: down"
    ):
        await gate(bench, at, candidate(rule(4), rule(5)))


@pytest.mark.parametrize("lost", [(5,), (7,), (5, 7)])
async def test_the_share_that_may_be_missing_is_that_of_the_whole_split(
    open_bench: OpenBench, lost: tuple[int, ...]
) -> None:
    """`max_unmeasured` of 4 tasks is 1, however small the blocks are in which they are measured."""
    bench = open_bench(target=losing(*lost), settings={"evaluation.max_unmeasured": 0.25, "evaluation.gate_block": 1})
    at = await current_of(bench, f"{rule(4)}\n{rule(5)}\n{rule(6)}\n")
    if len(lost) == 1:
        decision = await gate(bench, at, candidate(rule(4), rule(5), rule(6), rule(7)))
        assert (decision.action, decision.measured) == (Action.SKIP_UNMEASURED, 3)
    else:
        with pytest.raises(MeasurementError):
            await gate(bench, at, candidate(rule(4), rule(5), rule(6), rule(7)))


async def test_what_is_missing_and_could_not_save_the_candidate_does_not_stop_a_rejection(
    open_bench: OpenBench,
) -> None:
    bench = open_bench(target=losing(5), settings={"evaluation.max_unmeasured": 0.25})
    at = await current_of(bench, f"{rule(4)}\n{rule(6)}\n{rule(7)}\n")
    decision = await gate(bench, at, candidate("nothing"))
    assert (decision.action, decision.measured) == (Action.REJECT, 3)
