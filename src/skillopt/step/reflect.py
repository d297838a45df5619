"""Stage 2, the backward pass: the optimizer reads minibatches of trajectories and proposes bounded edits.

Failures and successes are never mixed in a minibatch, nor are the batches of a step. Minibatches are independent and
run side by side; their order is fixed by the seed, so it does not matter who finishes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from skillopt.concurrency import map_ordered
from skillopt.context import StageContext
from skillopt.events import StageProgress, StageStarted
from skillopt.prompts import render
from skillopt.skill.edits import target_lines
from skillopt.state import State
from skillopt.step.citing import citation_request, cited_tasks
from skillopt.step.limits import show_examples, show_limits
from skillopt.step.replies import EditsReply, edits_schema, read_edits, shown
from skillopt.step.rewrite import reflect_by_rewriting
from skillopt.step.showing import show_memory, show_rejections, show_skill, show_trajectories
from skillopt.step.skill_aware import SkillAwareReply, asks_for_notes, read_notes, with_notes
from skillopt.types import Discarded, Edit, EditState, Patch, Rollout, SourceType


@dataclass(frozen=True, slots=True)
class _Minibatch:
    index: int
    source_type: SourceType
    rollouts: tuple[Rollout, ...]


async def reflect(run: StageContext, state: State, rollouts: Sequence[Rollout]) -> tuple[Patch, ...]:
    """Return the patches that have edits, notes or discarded proposals, failures ahead of successes.

    With an edit budget of 0 nothing is asked: nothing could be applied.
    """
    minibatches = _minibatches(run, state, rollouts) if state.budget else ()
    run.emit(StageStarted("reflect", state.epoch, state.step, len(minibatches)))
    done = 0

    async def one(minibatch: _Minibatch) -> Patch | None:
        nonlocal done
        patch = await _reflect_on(run, state, minibatch)
        done += 1
        outcome = "done" if patch else "dropped"
        run.emit(StageProgress("reflect", state.epoch, state.step, done, len(minibatches), outcome=outcome))
        return patch

    patches = await map_ordered(one, minibatches, limit=run.config.gradient.analyst_workers)
    return tuple(patch for patch in patches if patch is not None)


def _minibatches(run: StageContext, state: State, rollouts: Sequence[Rollout]) -> tuple[_Minibatch, ...]:
    """Cut each batch of the step into minibatches; those of failures come ahead of all others."""
    batch_size, size = run.config.train.batch_size, run.config.gradient.minibatch_size
    batches = [rollouts[start : start + batch_size] for start in range(0, len(rollouts), batch_size)]
    kinds: tuple[SourceType, ...] = ("failure",) if run.config.gradient.failure_only else ("failure", "success")
    minibatches: list[_Minibatch] = []
    for source_type, (number, batch) in product(kinds, enumerate(batches)):
        group = [one for one in batch if one.score is not None and bool(one.score.hard) == (source_type == "success")]
        run.random(f"reflect.{source_type}", state.epoch, state.step, *([number] if number else ())).shuffle(group)
        for start in range(0, len(group), size):
            minibatches.append(_Minibatch(len(minibatches), source_type, tuple(group[start : start + size])))
    return tuple(minibatches)


async def _reflect_on(run: StageContext, state: State, minibatch: _Minibatch) -> Patch | None:
    if run.config.optimizer.whole_rewrites:
        return await reflect_by_rewriting(
            run, state, minibatch.rollouts, source_type=minibatch.source_type, index=minibatch.index
        )
    source_type = minibatch.source_type
    task_ids = tuple(rollout.task.id for rollout in minibatch.rollouts)
    cites = run.config.vetted_tasks > 0
    takes_notes = asks_for_notes(run.config.optimizer, source_type)
    examples = {"examples": show_examples(run)} if source_type == "failure" else {}
    messages = render(
        f"reflect_{source_type}{'_skill_aware' if takes_notes else ''}",
        **examples,
        purpose=run.environment.purpose,
        skill=show_skill(state),
        limits=show_limits(run, state),
        budget=str(state.budget),
        rejections=show_rejections(state),
        memory=show_memory(state),
        trajectories=show_trajectories(minibatch.rollouts, most_tokens=run.config.gradient.trajectory_tokens),
        citing=citation_request(task_ids) if cites else "",
    )
    form = edits_schema(target_lines(state.skill), task_ids=task_ids if cites else None)
    schema, form = (SkillAwareReply, with_notes(form)) if takes_notes else (EditsReply, form)
    answer = await run.ask(messages, state.place("reflect", minibatch.index), schema, reply_schema=form)
    if answer.value is None:
        run.count("dropped_reflections")
        return None
    edits, discarded = _read(run, answer.value, source_type, task_ids)
    notes = read_notes(answer.value, source_type=source_type, task_ids=task_ids)
    if not (edits or discarded or notes):
        return None
    beyond = tuple(
        Discarded(
            shown({"op": edit.operation, "target": edit.target, "content": edit.content}),
            EditState.OVER_BUDGET,
            f"the analyst was asked for at most {state.budget} edits",
        )
        for edit in edits[state.budget :]
    )
    return Patch(
        reasoning=answer.value.reasoning,
        edits=edits[: state.budget],
        source_type=minibatch.source_type,
        task_ids=task_ids,
        discarded=discarded + beyond,
        notes=notes,
    )


def _read(
    run: StageContext, reply: EditsReply, source_type: SourceType, task_ids: tuple[str, ...]
) -> tuple[tuple[Edit, ...], tuple[Discarded, ...]]:
    """Read the edits of a reply, each with the tasks that it cites; where it cites none, with the whole minibatch."""
    if not run.config.vetted_tasks:
        return read_edits(reply.edits, source_type=source_type, task_ids=task_ids)
    edits: tuple[Edit, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    for entry in reply.edits:
        cited, unknown = cited_tasks(entry, task_ids)
        for _ in range(unknown):
            run.count("unknown_task_ids")
        read, unreadable = read_edits([entry], source_type=source_type, task_ids=cited or task_ids)
        edits += tuple(replace(edit, cited=cited) for edit in read)
        discarded += unreadable
    return edits, discarded
