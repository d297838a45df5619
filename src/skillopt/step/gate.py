"""Stage 6, validation: the candidate replaces the current skill only if it scores strictly higher.

`decide` is the gate, a pure function: paired scores in, decision and its reason in words out. `judge` measures for it,
whoever made the candidate, a step or the slow update: in blocks of a fixed order, and with an early stop where that
loses nothing. Once the candidate can no longer get above the current score even if it solves all that is left, the
decision is the one the full measurement would give.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.context import StageContext
from skillopt.evaluation.acceptance import AcceptanceRule, Comparison, Verdict, compare, unmet_requirement
from skillopt.evaluation.repeats import by_task, paired_means, task_means
from skillopt.evaluation.runner import unmeasured_allowed
from skillopt.evaluation.scores import gate_score, gate_value
from skillopt.evaluation.statistics import paired_sign_test
from skillopt.events import StageStarted
from skillopt.results import Candidate
from skillopt.skill.document import Skill
from skillopt.state import Measured, State
from skillopt.step.passes import draws_needed, measure_draws, measure_passes
from skillopt.step.unjudged import keep_or_drop, no_verdict, nothing_to_judge
from skillopt.types import Action, Decision, Place, Rollout, SignTest, Task
from skillopt.wording import counted


async def gate(run: StageContext, state: State, candidate: Candidate) -> Decision:
    """Measure the candidate on the selection split as far as it takes, and decide."""
    evaluation = run.config.evaluation
    if candidate.skill.digest == state.current.skill.digest:
        return nothing_to_judge(state, candidate, evaluation=evaluation)
    lost = state.rejections.repeated(state.bundle(candidate), skill=state.current.skill.digest)
    if lost is not None:
        run.count("repeated_bundles")
        what = "rewrite" if candidate.rewrite else "edits"
        reason = f"the same {what} lost on the same skill in step {lost.step}: {lost.reason}"
        return no_verdict(state, Action.SKIP_REPEATED, reason, evaluation=evaluation)
    if not (state.window_ends or run.ends_epoch(state)):
        waiting = counted(len(state.bundle(candidate)), "change")
        reason = f"{waiting} so far; the gate judges those of {state.window} steps together (evaluation.gate_every)"
        return no_verdict(state, Action.DEFERRED, reason, evaluation=evaluation)
    decision = await judge(run, state, candidate.skill, state.place("gate"), evaluation=evaluation)
    return keep_or_drop(state, decision, last=run.ends_training(state))


async def judge(
    run: StageContext, state: State, skill: Skill, place: Place, *, evaluation: EvaluationSettings
) -> Decision:
    """Measure a skill that may replace the current one on the selection split, as far as it takes, and decide.

    Args:
        run: The run.
        state: Whose current and best skill it is compared with.
        skill: The candidate.
        place: Who asks.
        evaluation: The rule; without a gate every task is measured.
    """
    values = task_means(state.current.rollouts, evaluation.compared, weight=evaluation.gate_mixed_weight)
    draws = product(run.selection, range(evaluation.repeats))
    order = sorted(draws, key=lambda draw: (values[draw[0].id], draw[1]))
    run.emit(StageStarted(place.stage, state.epoch, state.step, len(order)))
    bar = len(order) * gate_score(state.current.rollouts, evaluation)
    acceptance = run.acceptance if evaluation.use_gate else None
    # Where every candidate is accepted, or a rule of the user's decides, nothing is certain before the end.
    strict = evaluation.use_gate and acceptance is None
    may_miss = unmeasured_allowed(evaluation.max_unmeasured, len(order))
    rollouts: list[Rollout] = []
    while len(rollouts) < len(order):
        slack = _upper_sum(rollouts, len(order), evaluation) - bar
        if strict and slack <= 0 and rollouts:
            break
        block = _next_block(order[len(rollouts) :], slack, evaluation.gate_block) if strict else order
        missing = sum(not rollout.measured for rollout in rollouts)
        rollouts += await measure_draws(run, skill, block, place, most_unmeasured=may_miss - missing)
    decision = decide(
        state.current,
        state.best,
        rollouts,
        candidate=skill,
        evaluation=evaluation,
        acceptance=acceptance,
    )
    if not (decision.accepted and evaluation.remeasure):
        return decision
    fresh = range(evaluation.repeats, 2 * evaluation.repeats)
    run.emit(StageStarted(place.stage, state.epoch, state.step, len(order)))
    again = await measure_passes(run, skill, fresh, replace(place, index=place.index + 1))
    return with_fresh_score(decision, state.best, again, evaluation=evaluation)


def with_fresh_score(
    decision: Decision, best: Measured, again: Sequence[Rollout], *, evaluation: EvaluationSettings
) -> Decision:
    """Return an acceptance with what the candidate scored when it was measured again.

    The score that won was the best of several draws, so on average it flatters (the winner's luck). The fresh one chose
    nothing, and it is the bar for the next candidate and what decides on the best skill.
    """
    score, best_score = gate_score(again, evaluation), gate_score(best.rollouts, evaluation)
    new_best = score > best_score or (decision.new_best and score == best_score and evaluation.acceptance is not None)
    action = decision.action
    if action is not Action.FORCE_ACCEPT:
        action = Action.ACCEPT_NEW_BEST if new_best else Action.ACCEPT
    told = f"measured again: {_share(score, len(again))}, the bar from now on"
    return replace(
        decision,
        action=action,
        reason=f"{decision.reason}; {told}",
        without_tasks=decision.without_tasks and f"{decision.without_tasks}; {told}",
        new_best=new_best,
        remeasured=tuple(again),
    )


def decide(
    current: Measured,
    best: Measured,
    rollouts: Sequence[Rollout],
    *,
    candidate: Skill,
    evaluation: EvaluationSettings,
    acceptance: AcceptanceRule | None = None,
) -> Decision:
    """Decide on a candidate from what was measured of it.

    Args:
        current: The current skill with all its selection rollouts.
        best: The best skill so far with all its selection rollouts.
        rollouts: The candidate's, some or all of as many; unmeasured ones among them count as open.
        candidate: The candidate.
        evaluation: The rule: `use_gate`, `gate_metric`, `gate_mixed_weight`, `confidence`, `max_regressions`.
        acceptance: The rule that decides in place of the strict one.

    Returns:
        A rejection as soon as the candidate cannot get above the current score whatever is still open; no verdict
        where open tasks could decide otherwise; else the verdict on exact sums.
    """
    total, noun = draws_needed(current, evaluation), "tasks" if evaluation.repeats == 1 else "rollouts"
    current_score, best_score = (gate_score(skill.rollouts, evaluation) for skill in (current, best))
    measured = [rollout for rollout in rollouts if rollout.measured]
    upper_bound = _upper_sum(rollouts, total, evaluation) / total
    complete = len(measured) == total
    candidate_score = gate_score(measured, evaluation) if complete else None
    strict, told = evaluation.use_gate and acceptance is None, ""
    if candidate_score is not None:
        verdict = _verdict(_compared(current, candidate, measured, evaluation), evaluation, acceptance)
        accepted, reason, told = verdict.accept, verdict.reason, verdict.without_tasks
        # A rule that prefers the candidate at the same score prefers it to the best skill as well.
        higher = candidate_score > best_score or (accepted and acceptance is not None and candidate_score == best_score)
        new_best = accepted and higher
        action = _action(accepted=accepted, new_best=new_best, use_gate=evaluation.use_gate)
    elif strict and upper_bound <= current_score:
        action, new_best = Action.REJECT, False
        bar = _share(current_score, total)
        reason = f"at most {_share(upper_bound, total)} was still possible, not above {bar}"
    else:
        action, new_best = Action.SKIP_UNMEASURED, False
        reason = f"{len(rollouts) - len(measured)} of {total} selection {noun} could not be measured: no verdict"
    measured_of = f"{len(measured)} of {total} {noun} measured"
    return Decision(
        action=action,
        reason=f"{reason}; {measured_of}",
        without_tasks=told and f"{told}; {measured_of}",
        current_score=current_score,
        candidate_score=candidate_score,
        upper_bound=upper_bound,
        measured=len(measured),
        total=total,
        sign_test=_paired_sign_test(current.rollouts, measured, evaluation),
        rollouts=tuple(rollouts),
        new_best=new_best,
        broken=_broken(current.rollouts, measured, evaluation),
    )


def _verdict(comparison: Comparison, evaluation: EvaluationSettings, acceptance: AcceptanceRule | None) -> Verdict:
    """Whether a candidate that was measured in full is accepted, and why."""
    total = len(comparison.pairs) * evaluation.repeats
    numbers = f"{evaluation.compared} {_share(comparison.after, total)} against {_share(comparison.before, total)}"
    if not evaluation.use_gate:
        return Verdict(accept=True, reason=f"accepted without a gate: {numbers}")
    if acceptance is not None:
        verdict = acceptance.decide(comparison)
        word = "accepted" if verdict.accept else "not accepted"
        # The rule's own words may speak of single selection tasks.
        reason, told = (f"{acceptance.name}: {said}: {numbers}" for said in (verdict.reason or word, word))
        return Verdict(verdict.accept, reason, told)
    if comparison.after <= comparison.before:
        return Verdict(accept=False, reason=f"not strictly higher: {numbers}")
    unmet, told = (
        unmet_requirement(
            comparison,
            confidence=evaluation.confidence,
            max_regressions=evaluation.max_regressions,
            guards=evaluation.guards,
            name_tasks=named,
        )
        for named in (True, False)
    )
    if unmet:
        reason, told = (f"strictly higher, but {words}: {numbers}" for words in (unmet, told))
        return Verdict(accept=False, reason=reason, without_tasks=told)
    return Verdict(accept=True, reason=f"strictly higher: {numbers}")


def _action(*, accepted: bool, new_best: bool, use_gate: bool) -> Action:
    if not accepted:
        return Action.REJECT
    if not use_gate:
        return Action.FORCE_ACCEPT
    return Action.ACCEPT_NEW_BEST if new_best else Action.ACCEPT


def _next_block(remaining: Sequence[tuple[Task, int]], slack: Fraction, gate_block: int) -> Sequence[tuple[Task, int]]:
    """Return the tasks, with their repeat numbers, to measure before looking again.

    The candidate is stopped once it has lost `slack` points, at most one a rollout, so no look before that many
    rollouts could stop anything: measuring them together costs nothing and keeps the target busy.
    """
    return remaining[: max(gate_block, math.ceil(slack))]


def _upper_sum(rollouts: Sequence[Rollout], total: int, evaluation: EvaluationSettings) -> Fraction:
    """The sum of gate scores if every open rollout solved its task."""
    lost = sum((1 - _value(rollout, evaluation) for rollout in rollouts if rollout.measured), Fraction(0))
    return total - lost


def _value(rollout: Rollout, evaluation: EvaluationSettings) -> Fraction:
    assert rollout.score is not None, "an unmeasured rollout has no gate score"
    return gate_value(rollout.score, evaluation.compared, weight=evaluation.gate_mixed_weight)


def _compared(
    current: Measured, candidate: Skill, rollouts: Sequence[Rollout], evaluation: EvaluationSettings
) -> Comparison:
    return compare(
        current.skill.text,
        candidate.text,
        current.rollouts,
        rollouts,
        metric=evaluation.compared,
        weight=evaluation.gate_mixed_weight,
    )


def _broken(
    current: Sequence[Rollout], candidate: Sequence[Rollout], evaluation: EvaluationSettings
) -> tuple[str, ...]:
    """The tasks, of those on which the candidate was measured as often as asked, on which it scores lower."""
    before, after = by_task(current), by_task(candidate)
    return tuple(
        task
        for task, own in after.items()
        if len(own) == evaluation.repeats and gate_score(own, evaluation) < gate_score(before[task], evaluation)
    )


def _paired_sign_test(
    current: Sequence[Rollout], candidate: Sequence[Rollout], evaluation: EvaluationSettings
) -> SignTest | None:
    if not candidate:
        return None
    metric, weight, draws = evaluation.compared, evaluation.gate_mixed_weight, evaluation.repeats
    pairs = paired_means(current, candidate, metric, weight=weight, draws=draws)
    return paired_sign_test([before for before, _ in pairs], [after for _, after in pairs])


def _share(score: Fraction, total: int) -> str:
    """A mean over tasks with the sum it was taken from, such as "7/30 (23.3 %)"."""
    return f"{float(score * total):.4g}/{total} ({100 * float(score):.1f} %)"
