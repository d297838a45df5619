"""The views of a run in numbers: the records of history.json and the summary.

Both are functions of what the stages made, so they can be rebuilt from the evidence at any time. Clock readings stand
apart in `timing`; everything else is equal between two runs with the same replies. Field names are the public ones
where the public tool has the value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.config.schema import Config
from skillopt.evaluation.repeats import passes
from skillopt.evaluation.scores import format_solved, gate_score, solved
from skillopt.models.meter import MeterRow
from skillopt.results import ReplyTrouble, Step
from skillopt.run.appendix_records import appendix_record
from skillopt.run.gate_records import criteria_record, refresh_record, waiting_record
from skillopt.run.spending_records import spending
from skillopt.run.stage_clock import with_public_names
from skillopt.run.update_records import accumulation_batches, update_record
from skillopt.skill.document import Skill
from skillopt.skill.size import estimate_tokens
from skillopt.state import Measured, State
from skillopt.types import Action, Decision, EditState, Rollout

Record = dict[str, Any]
"""One entry of history.json: a JSON object."""


def split_scores(rollouts: Sequence[Rollout]) -> Record:
    """Return how a skill did on tasks: means of what was measured, k/n, and how many could not be measured."""
    count, measured = solved(rollouts)
    scores = [rollout.score for rollout in rollouts if rollout.score is not None]
    return {
        "hard": count / measured if measured else None,
        "soft": float(sum(Fraction(score.soft) for score in scores) / measured) if measured else None,
        "solved": count,
        "measured": measured,
        "unmeasured": len(rollouts) - measured,
        "shown": format_solved(count, measured) if measured else "nothing measured",
    }


def pass_scores(evaluation: EvaluationSettings, rollouts: Sequence[Rollout]) -> Record:
    """Return the gate scores of a skill's passes over the split: how many, each, their mean and standard deviation."""
    found = passes(rollouts, evaluation.compared, weight=evaluation.gate_mixed_weight)
    return {
        "n": len(found.means),
        "mean": float(found.mean),
        "spread": found.spread,
        "scores": [float(mean) for mean in found.means],
    }


def baseline_record(config: Config, seed: Measured, *, rows: Iterable[MeterRow], timing: Mapping[str, float]) -> Record:
    """Return the record of step 0: the seed skill on the selection split."""
    state = State(seed=seed, current=seed, best=seed)
    return {
        "step": 0,
        "epoch": 0,
        "step_in_epoch": None,
        "action": "baseline",
        "reason": "the seed skill on the selection split",
        "train_acc": None,
        **standing(config.evaluation, state),
        "candidate_val_acc": None,
        "candidate_val_acc_upper_bound": None,
        **spending(rows, step=0),
        "timing": with_public_names(timing),
    }


def step_record(
    config: Config,
    before: State,
    after: State,
    step: Step,
    *,
    step_in_epoch: int,
    counters: Mapping[str, int],
    rows: Sequence[MeterRow],
    timing: Mapping[str, float],
) -> Record:
    """Return the record of a step.

    Args:
        config: The run's settings.
        before: The state the step began with.
        after: The state it left.
        step: What its stages made.
        step_in_epoch: From 0.
        counters: Dropped, repaired and repeated replies, fall-backs.
        rows: What was used of both models so far, for this step and the totals.
        timing: Seconds by stage.
    """
    training = split_scores(step.rollouts)
    return {
        "step": after.step,
        "epoch": after.epoch,
        "step_in_epoch": step_in_epoch,
        "action": step.decision.action.value,
        "reason": step.decision.reason,
        "train_acc": training["hard"],
        **standing(config.evaluation, after),
        **judged(config.evaluation, step.decision, step.candidate.skill),
        "rollout_hard": training["hard"],
        "rollout_soft": training["soft"],
        "rollout_n": training["measured"],
        "rollout_solved": training["solved"],
        "rollout_unmeasured": training["unmeasured"],
        "sampling": config.train.sampling,
        **_known_training(after),
        "accumulation_batches": accumulation_batches(config, step, step_in_epoch=step_in_epoch),
        **update_record(config, before, step),
        "refresh": refresh_record(config.evaluation, before),
        **waiting_record(before, after, step.decision),
        "redraws": [_lost_draw(config.evaluation, lost) for lost in before.lost],
        **_edits(step),
        **(appendix_record(after, step) if config.optimizer.use_skill_aware_reflection else {}),
        "counters": dict(sorted(counters.items())),
        **replies(step.troubles),
        **spending(rows, step=after.step),
        "timing": with_public_names(timing),
    }


def _known_training(state: State) -> Record:
    """How the training tasks seen so far stood the last time: a batch of known failures says little of all of them."""
    count, seen = state.known_training
    return {"train_known_acc": count / seen if seen else None, "train_known_solved": count, "train_known_n": seen}


def standing(evaluation: EvaluationSettings, state: State) -> Record:
    """Return how the skill that training goes on with, and the best one, stand: scores, origins, size."""
    current = split_scores(state.current.rollouts)
    best_solved, best_n = solved(state.best.rollouts)
    return {
        "val_acc": current["hard"],
        "val_soft": current["soft"],
        "val_solved": current["solved"],
        "val_n": current["measured"],
        "gate_metric": str(evaluation.compared),
        "current_score": float(gate_score(state.current.rollouts, evaluation)),
        "current_origin": origin_of(state.current),
        "best_score": float(gate_score(state.best.rollouts, evaluation)),
        "best_solved": best_solved,
        "best_n": best_n,
        "best_step": state.best.step,
        "best_origin": origin_of(state.best),
        "val_passes": pass_scores(evaluation, state.current.rollouts),
        "criteria": criteria_record(state.current.rollouts),
        "skill_len": len(state.current.skill.text),
        "skill_tokens": estimate_tokens(state.current.skill.text),
    }


def judged(evaluation: EvaluationSettings, decision: Decision, candidate: Skill) -> Record:
    """Return how a candidate did on the selection split; no scores where the gate stopped early or gave no verdict."""
    whole = decision.candidate_score is not None
    scores = split_scores(decision.rollouts)
    bound = decision.upper_bound
    return {
        "candidate_hash": candidate.short_digest,
        "candidate_skill_len": len(candidate.text),
        "candidate_val_acc": scores["hard"] if whole else None,
        "candidate_val_acc_upper_bound": _hard_bound(decision.rollouts, decision.total) if decision.rollouts else None,
        "selection_hard": scores["hard"] if whole else None,
        "selection_soft": scores["soft"] if whole else None,
        "selection_solved": scores["solved"],
        "selection_n": scores["measured"],
        "selection_unmeasured": scores["unmeasured"],
        "candidate_gate_score": float(decision.candidate_score) if decision.candidate_score is not None else None,
        "candidate_gate_score_upper_bound": float(bound) if bound is not None else None,
        "candidate_remeasured_score": float(gate_score(decision.remeasured, evaluation))
        if decision.remeasured
        else None,
        "candidate_passes": pass_scores(evaluation, decision.rollouts) if whole else None,
        "candidate_criteria": criteria_record(decision.rollouts) if whole else None,
        "lost_by": float(decision.lost_by) if decision.action is Action.REJECT else None,
        "broken": list(decision.broken),
        "sign_test": None
        if decision.sign_test is None
        else {
            "better": decision.sign_test.better,
            "worse": decision.sign_test.worse,
            "p_value": decision.sign_test.p_value,
        },
    }


def _lost_draw(evaluation: EvaluationSettings, lost: Step) -> Record:
    """A draw that was rejected ahead of the one that the record speaks of; its files stand in a directory apart."""
    return {
        "action": lost.decision.action.value,
        "reason": lost.decision.reason,
        "n_edits_proposed": sum(len(patch.edits) for patch in lost.patches),
        "n_edits_ranked": len(lost.selected.edits),
        **judged(evaluation, lost.decision, lost.candidate.skill),
    }


def _edits(step: Step) -> Record:
    """Counts of patches, and of proposals by the one state in which each of them ended."""
    outcomes = (*step.candidate.outcomes, *step.selected.over_budget)
    states = Counter([outcome.state for outcome in outcomes] + [entry.state for entry in step.discarded])
    tried = [outcome for outcome in step.candidate.outcomes if outcome.state is not EditState.SUGGESTED]
    applied = len(step.candidate.applied)
    errors = sum(outcome.state is EditState.INVALID for outcome in tried)
    return {
        "n_patches": len(step.patches),
        "n_failure_patches": sum(patch.source_type == "failure" for patch in step.patches),
        "n_success_patches": sum(patch.source_type == "success" for patch in step.patches),
        "n_edits_proposed": sum(len(patch.edits) for patch in step.patches),
        "n_edits_merged": len(step.merged.edits),
        "n_edits_ranked": len(step.selected.edits),
        "support_counts": [edit.support_count for edit in step.selected.edits],
        "edits": {state.value: states[state] for state in EditState},
        "memorised_passages": sum(
            len(outcome.copies)
            for outcome in (*step.candidate.outcomes, *step.candidate.rewrites, *step.candidate.notes)
            if outcome.state is EditState.APPLIED
        ),
        "edits_vetted": sum(outcome.vetting is not None for outcome in step.candidate.outcomes),
        "edits_repaired": sum(outcome.repaired for outcome in step.candidate.outcomes),
        "edit_apply_summary": {
            "total": len(tried),
            "applied": applied,
            "skipped": len(tried) - applied - errors,
            "errors": errors,
        },
    }


def replies(troubles: Sequence[ReplyTrouble]) -> Record:
    """Return the optimizer's replies that a stage went on without, and those that were mended or asked for again."""
    places = [(trouble, {"stage": trouble.place.stage, "index": trouble.place.index}) for trouble in troubles]
    return {
        "dropped_replies": [{**place, "reason": trouble.dropped} for trouble, place in places if trouble.dropped],
        "mended_replies": [
            {**place, "repaired": trouble.repaired, "asked_again": trouble.asked_again}
            for trouble, place in places
            if not trouble.dropped
        ],
    }


def _hard_bound(rollouts: Sequence[Rollout], total: int) -> float:
    """The highest share of solved tasks still possible: all that were not measured count as solved."""
    count, measured = solved(rollouts)
    return (count + total - measured) / total


def origin_of(measured: Measured) -> str:
    """Return what made a skill, as records say it: the seed, a step, or the slow update of an epoch."""
    if measured.slow_update:
        return f"slow_update_epoch_{measured.slow_update:02d}"
    return f"step_{measured.step:04d}" if measured.step else "initial_skill"


def count_actions(records: Sequence[Record]) -> Record:
    """Return how many steps accepted, rejected, skipped, and left the gate to a later one."""
    actions = Counter(record["action"] for record in records)
    accepts = sum(actions[action.value] for action in (Action.ACCEPT, Action.ACCEPT_NEW_BEST, Action.FORCE_ACCEPT))
    skips = sum(count for action, count in actions.items() if action.startswith("skip"))
    rejects, deferred = actions[Action.REJECT.value], actions[Action.DEFERRED.value]
    return {"total_accepts": accepts, "total_rejects": rejects, "total_skips": skips, "total_deferred": deferred}
