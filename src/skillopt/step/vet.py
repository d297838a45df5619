"""Between update and gate, where `evaluation.vet` asks for it: each edit alone, on training tasks that it came from.

An edit that does not help even there would only spoil the candidate that it is part of. Those that did no better are
taken out and the others are applied anew. Whether the candidate is better on tasks that no analyst has seen is still
the gate's to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from skillopt.concurrency import map_ordered
from skillopt.config.evaluation_settings import EvaluationSettings
from skillopt.context import StageContext
from skillopt.evaluation.scores import gate_value
from skillopt.events import StageStarted
from skillopt.results import Candidate
from skillopt.skill.document import Skill
from skillopt.skill.edits import apply_edits
from skillopt.state import State
from skillopt.types import Edit, EditOutcome, EditState, Rollout, Task, Vetting


@dataclass(frozen=True, slots=True)
class _Trial:
    """An edit alone, and the rollouts of the current skill that it is compared with."""

    skill: Skill
    before: tuple[Rollout, ...]


async def vet(run: StageContext, state: State, candidate: Candidate, rollouts: Sequence[Rollout]) -> Candidate:
    """Return the candidate without the edits that did no better alone on the tasks they came from.

    Not judged, and so left in, is an edit that cannot be applied alone, since it builds on another; one that cites no
    task; one from failures whose tasks all have the highest score already; one whose tasks could not all be measured.

    Args:
        run: The run.
        state: Whose current skill the candidate was made from.
        candidate: What the update made.
        rollouts: What the current skill did in this step.
    """
    evaluation = run.config.evaluation
    if not run.config.vetted_tasks:
        return candidate
    trials = _trials(run, state, candidate, rollouts)
    if not trials:
        return candidate
    measured = await _measure(run, state, trials.values())
    outcomes = list(candidate.outcomes)
    for number, trial in trials.items():
        after = [measured[trial.skill.digest][rollout.task.id] for rollout in trial.before]
        outcomes[number] = _judged(outcomes[number], trial.before, after, evaluation)
    if all(outcome.state is not EditState.VETTED_OUT for outcome in outcomes):
        return replace(candidate, outcomes=tuple(outcomes))
    # What was refused stays so: a copy of an edit that is taken out must not come in unvetted.
    kept = [number for number, outcome in enumerate(outcomes) if outcome.state is EditState.APPLIED]
    edits = [outcomes[number].edit for number in kept]
    again = apply_edits(state.skill, edits, max_tokens=run.config.skill.max_tokens)
    for number, outcome in zip(kept, again.outcomes, strict=True):
        repaired = outcomes[number].repaired and outcome.state is EditState.APPLIED
        outcomes[number] = replace(outcome, repaired=repaired, vetting=outcomes[number].vetting)
    return replace(candidate, skill=again.skill, outcomes=tuple(outcomes), changed=again.changed)


def _trials(run: StageContext, state: State, candidate: Candidate, rollouts: Sequence[Rollout]) -> Mapping[int, _Trial]:
    """Return, by number, the applied edits that can be tried alone, each with its tasks in the order of the batch."""
    trials: dict[int, _Trial] = {}
    for number, outcome in enumerate(candidate.outcomes):
        if outcome.state is not EditState.APPLIED:
            continue
        alone = apply_edits(state.skill, [outcome.edit], max_tokens=run.config.skill.max_tokens)
        before = _tasks_of(outcome.edit, rollouts, run.config.evaluation)[: run.config.vetted_tasks]
        if alone.changed and before:
            trials[number] = _Trial(alone.skill, before)
    return trials


def _tasks_of(edit: Edit, rollouts: Sequence[Rollout], evaluation: EvaluationSettings) -> tuple[Rollout, ...]:
    """Return what the current skill did on the tasks that can speak for or against an edit.

    An edit from failures has to do better, so a task that has the highest score says nothing of it. Merged with one
    from successes it cites such tasks too.
    """
    cited = {one.task.id: one for one in rollouts if one.measured and one.task.id in edit.cited}
    if edit.source_type == "failure":
        return tuple(one for one in cited.values() if _sum([one], evaluation) < 1)
    return tuple(cited.values())


async def _measure(run: StageContext, state: State, trials: Iterable[_Trial]) -> Mapping[str, Mapping[str, Rollout]]:
    """Return what each skill did, by its digest and the task's id; edits that come to the same skill share it."""
    skills: dict[str, Skill] = {}
    tasks: dict[str, dict[str, Task]] = {}
    for trial in trials:
        skills[trial.skill.digest] = trial.skill
        tasks.setdefault(trial.skill.digest, {}).update({one.task.id: one.task for one in trial.before})
    run.emit(StageStarted("vet", state.epoch, state.step, sum(map(len, tasks.values()))))

    async def one(number: int) -> Mapping[str, Rollout]:
        skill, place = list(skills.values())[number], state.place("vet", number)
        own = list(tasks[skill.digest].values())
        # What is missing decides nothing here, so it does not stop the run; an outage stops it at the gate.
        done = await run.measure(skill, own, place, most_unmeasured=len(own))
        return {rollout.task.id: rollout for rollout in done}

    # Skills side by side, as many as their tasks find workers.
    limit = max(1, run.config.env.workers // max(map(len, tasks.values())))
    done = await map_ordered(one, range(len(skills)), limit=limit)
    return dict(zip(skills, done, strict=True))


def _judged(
    outcome: EditOutcome, before: Sequence[Rollout], after: Sequence[Rollout], evaluation: EvaluationSettings
) -> EditOutcome:
    """Return how an edit ends: it stays if it does better on failed tasks, or no worse on solved ones."""
    task_ids = tuple(rollout.task.id for rollout in before)
    was = _sum(before, evaluation)
    if not all(rollout.measured for rollout in after):
        return replace(outcome, vetting=Vetting(task_ids, was, None))
    now = _sum(after, evaluation)
    judged = replace(outcome, vetting=Vetting(task_ids, was, now))
    from_failures = outcome.edit.source_type == "failure"
    if now > was or (now == was and not from_failures):
        return judged
    numbers = f"{evaluation.compared} {float(now):.4g} against {float(was):.4g} without it"
    detail = f"alone {'no better' if from_failures else 'worse'} on {len(before)} of its tasks: {numbers}"
    return replace(judged, state=EditState.VETTED_OUT, detail=detail)


def _sum(rollouts: Sequence[Rollout], evaluation: EvaluationSettings) -> Fraction:
    values = (
        gate_value(rollout.score, evaluation.compared, weight=evaluation.gate_mixed_weight)
        for rollout in rollouts
        if rollout.score is not None
    )
    return sum(values, Fraction(0))
