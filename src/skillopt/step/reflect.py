"""Stage 2, the backward pass: the optimizer reads minibatches of trajectories and proposes bounded edits.

Failures and successes are never mixed in a minibatch. Minibatches are independent and run side by side; their order is
fixed by the seed, so it does not matter who finishes first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.concurrency import map_ordered
from skillopt.context import StageContext
from skillopt.events import StageProgress, StageStarted
from skillopt.prompts import render
from skillopt.skill.edits import target_lines
from skillopt.state import State
from skillopt.step.replies import EditsReply, edits_schema, read_edits, shown
from skillopt.step.showing import show_memory, show_rejections, show_skill, show_trajectories
from skillopt.types import Discarded, EditState, Patch, Rollout, SourceType


@dataclass(frozen=True, slots=True)
class _Minibatch:
    index: int
    source_type: SourceType
    rollouts: tuple[Rollout, ...]


async def reflect(run: StageContext, state: State, rollouts: Sequence[Rollout]) -> tuple[Patch, ...]:
    """Return the patches that have edits or discarded proposals, failures ahead of successes.

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
    measured = [rollout for rollout in rollouts if rollout.score is not None]
    failures = [rollout for rollout in measured if rollout.score and not rollout.score.hard]
    successes = [rollout for rollout in measured if rollout.score and rollout.score.hard]
    groups: list[tuple[SourceType, list[Rollout]]] = [("failure", failures)]
    if not run.config.gradient.failure_only:
        groups.append(("success", successes))
    minibatches: list[_Minibatch] = []
    size = run.config.gradient.minibatch_size
    for source_type, group in groups:
        run.random(f"reflect.{source_type}", state.epoch, state.step).shuffle(group)
        for start in range(0, len(group), size):
            minibatches.append(_Minibatch(len(minibatches), source_type, tuple(group[start : start + size])))
    return tuple(minibatches)


async def _reflect_on(run: StageContext, state: State, minibatch: _Minibatch) -> Patch | None:
    messages = render(
        f"reflect_{minibatch.source_type}",
        purpose=run.environment.purpose,
        skill=show_skill(state),
        budget=str(state.budget),
        rejections=show_rejections(state),
        memory=show_memory(state),
        trajectories=show_trajectories(minibatch.rollouts, most_tokens=run.config.gradient.trajectory_tokens),
    )
    place = state.place("reflect", minibatch.index)
    form = edits_schema(target_lines(state.skill))
    answer = await run.ask(messages, place, EditsReply, reply_schema=form)
    if answer.value is None:
        run.count("dropped_reflections")
        return None
    task_ids = tuple(rollout.task.id for rollout in minibatch.rollouts)
    edits, discarded = read_edits(answer.value.edits, source_type=minibatch.source_type, task_ids=task_ids)
    if not edits and not discarded:
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
    )
