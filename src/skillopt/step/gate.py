"""Stage 6, validation: the candidate replaces the current skill only if it scores strictly higher.

`decide` is the gate, a pure function: paired scores in, decision and its reason in words out. `judge` measures for it,
whoever made the candidate, a step or the slow update: in blocks of a fixed order, and with an early stop where that
loses nothing. Once the candidate can no longer get above the current score even if it solves all that is left, the
decision is the one the full measurement would give.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

from skillopt.config.schema import EvaluationSettings
from skillopt.context import StageContext
from skillopt.evaluation.runner import unmeasured_allowed
from skillopt.evaluation.scores import gate_value, mean_gate_score
from skillopt.evaluation.statistics import paired_sign_test
from skillopt.events import StageStarted
from skillopt.skill.document import Skill
from skillopt.state import Candidate, Measured, State
from skillopt.types import Action, Decision, Place, Rollout, SignTest, Task


async def gate(run: StageContext, state: State, candidate: Candidate) -> Decision:
    """Measure the candidate on the selection split as far as it takes, and decide."""
    evaluation = run.config.evaluation
    if not candidate.changed:
        return _nothing_to_judge(state, candidate, evaluation)
    lost = state.rejections.repeated(candidate.applied, skill=state.current.skill.digest)
    if lost is not None:
        run.count("repeated_bundles")
        reason = f"the same edits lost on the same skill in step {lost.step}: {lost.reason}"
        return no_verdict(state, Action.SKIP_REPEATED, reason, evaluation=evaluation)
    return await judge(run, state, candidate.skill, state.place("gate"), evaluation=evaluation)


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
    run.emit(StageStarted(place.stage, state.epoch, state.step, len(run.selection)))
    values = {rollout.task.id: _value(rollout, evaluation) for rollout in state.current.rollouts}
    order = sorted(run.selection, key=lambda task: values[task.id])
    may_miss = unmeasured_allowed(evaluation.max_unmeasured, len(order))
    rollouts: list[Rollout] = []
    while len(rollouts) < len(order):
        block = _next_block(order[len(rollouts) :], values, rollouts, evaluation)
        missing = sum(not rollout.measured for rollout in rollouts)
        rollouts += await run.measure(skill, block, place, most_unmeasured=may_miss - missing)
        if evaluation.use_gate and _upper_sum(rollouts, len(order), evaluation) <= sum(values.values()):
            break
    return decide(state.current, state.best, rollouts, evaluation=evaluation)


def decide(
    current: Measured, best: Measured, rollouts: Sequence[Rollout], *, evaluation: EvaluationSettings
) -> Decision:
    """Decide on a candidate from what was measured of it.

    Args:
        current: The current skill with all its selection rollouts.
        best: The best skill so far with all its selection rollouts.
        rollouts: The candidate's, on some or all of the same tasks; unmeasured ones among them count as open.
        evaluation: The rule: `use_gate`, `gate_metric`, `gate_mixed_weight`.

    Returns:
        A rejection as soon as the candidate cannot get above the current score whatever is still open; no verdict
        where open tasks could decide otherwise; else the verdict on exact sums.
    """
    total = len(current.rollouts)
    current_score, best_score = (_mean(skill.rollouts, evaluation) for skill in (current, best))
    measured = [rollout for rollout in rollouts if rollout.measured]
    upper_bound = _upper_sum(rollouts, total, evaluation) / total
    complete = len(measured) == total
    candidate_score = _mean(measured, evaluation) if complete else None
    if candidate_score is None and not (evaluation.use_gate and upper_bound <= current_score):
        action = Action.SKIP_UNMEASURED
        reason = f"{len(rollouts) - len(measured)} of {total} selection tasks could not be measured: no verdict"
    else:
        action, reason = _verdict(
            candidate_score, upper_bound, current=current_score, best=best_score, total=total, evaluation=evaluation
        )
    return Decision(
        action=action,
        reason=f"{reason}; {len(measured)} of {total} tasks measured",
        current_score=current_score,
        candidate_score=candidate_score,
        upper_bound=upper_bound,
        measured=len(measured),
        total=total,
        sign_test=_paired_sign_test(current.rollouts, measured, evaluation),
        rollouts=tuple(rollouts),
        broken=_broken(current.rollouts, measured, evaluation),
        new_best=candidate_score is not None and candidate_score > best_score and action is not Action.REJECT,
    )


def _verdict(
    candidate: Fraction | None,
    upper_bound: Fraction,
    *,
    current: Fraction,
    best: Fraction,
    total: int,
    evaluation: EvaluationSettings,
) -> tuple[Action, str]:
    bar = _share(current, total)
    if candidate is None:
        return Action.REJECT, f"at most {_share(upper_bound, total)} was still possible, not above {bar}"
    numbers = f"{evaluation.gate_metric} {_share(candidate, total)} against {bar}"
    if not evaluation.use_gate:
        return Action.FORCE_ACCEPT, f"accepted without a gate: {numbers}"
    if candidate <= current:
        return Action.REJECT, f"not strictly higher: {numbers}"
    return (Action.ACCEPT_NEW_BEST if candidate > best else Action.ACCEPT), f"strictly higher: {numbers}"


def no_verdict(state: State, action: Action, reason: str, *, evaluation: EvaluationSettings) -> Decision:
    """Return the decision where there is nothing to measure; the current skill stays."""
    rollouts = state.current.rollouts
    return Decision(action, reason, _mean(rollouts, evaluation), total=len(rollouts))


def _nothing_to_judge(state: State, candidate: Candidate, evaluation: EvaluationSettings) -> Decision:
    if candidate.outcomes:
        action, reason = Action.SKIP_NO_CHANGE, "no edit could be applied: the candidate is the current skill"
    else:
        action, reason = Action.SKIP_NO_PATCHES, "no edit was proposed and selected, so there was nothing to apply"
    return no_verdict(state, action, reason, evaluation=evaluation)


def _next_block(
    remaining: Sequence[Task],
    values: Mapping[str, Fraction],
    rollouts: Sequence[Rollout],
    evaluation: EvaluationSettings,
) -> Sequence[Task]:
    """Return the tasks to measure before looking again.

    A stop needs the candidate to lose more than `slack` points, at most one a task, so no look before that many tasks
    could stop anything: measuring them together costs nothing and keeps the target busy.
    """
    if not evaluation.use_gate:
        return remaining
    slack = _upper_sum(rollouts, len(values), evaluation) - sum(values.values())
    return remaining[: max(evaluation.gate_block, math.ceil(slack))]


def _upper_sum(rollouts: Sequence[Rollout], total: int, evaluation: EvaluationSettings) -> Fraction:
    """The sum of gate scores if every open task were solved."""
    lost = sum((1 - _value(rollout, evaluation) for rollout in rollouts if rollout.measured), Fraction(0))
    return total - lost


def _value(rollout: Rollout, evaluation: EvaluationSettings) -> Fraction:
    assert rollout.score is not None, "an unmeasured rollout has no gate score"
    return gate_value(rollout.score, evaluation.gate_metric, weight=evaluation.gate_mixed_weight)


def _mean(rollouts: Sequence[Rollout], evaluation: EvaluationSettings) -> Fraction:
    return mean_gate_score(rollouts, evaluation.gate_metric, weight=evaluation.gate_mixed_weight)


def _broken(
    current: Sequence[Rollout], candidate: Sequence[Rollout], evaluation: EvaluationSettings
) -> tuple[str, ...]:
    before = {rollout.task.id: _value(rollout, evaluation) for rollout in current}
    return tuple(one.task.id for one in candidate if _value(one, evaluation) < before[one.task.id])


def _paired_sign_test(
    current: Sequence[Rollout], candidate: Sequence[Rollout], evaluation: EvaluationSettings
) -> SignTest | None:
    if not candidate:
        return None
    before = {rollout.task.id: _value(rollout, evaluation) for rollout in current}
    return paired_sign_test(
        [before[rollout.task.id] for rollout in candidate], [_value(rollout, evaluation) for rollout in candidate]
    )


def _share(score: Fraction, total: int) -> str:
    """A mean over tasks with the sum it was taken from, such as "7/30 (23.3 %)"."""
    return f"{float(score * total):.4g}/{total} ({100 * float(score):.1f} %)"
