"""Stage 3: edits that say the same are merged, failures ahead of successes.

First exact and near duplicates are merged without a model. What is left is merged by the optimizer, hierarchically
in groups of `merge_batch_size`, failures and successes side by side, then the two with the failures first. A merge
that fails costs nothing that went into it: the group's edits are concatenated and the fall-back is counted.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import cast

from skillopt.concurrency import map_ordered
from skillopt.context import StageContext
from skillopt.events import StageProgress, StageStarted
from skillopt.prompts import render
from skillopt.state import State
from skillopt.step.duplicates import merge_duplicates
from skillopt.step.replies import MergeReply, as_object, read_edits, shown
from skillopt.step.showing import show_edits, show_rejections, show_skill
from skillopt.types import Discarded, Edit, EditState, Patch, Place, SourceType


@dataclass(frozen=True, slots=True)
class _Call:
    """Where a merge stands in the hierarchy: which side, which level (from 1), which group of the level (from 0)."""

    side: int
    level: int
    group: int

    @property
    def index(self) -> int:
        """A number of its own for every merge of a step."""
        return self.side * 1_000_000 + self.level * 10_000 + self.group


_FAILURES, _SUCCESSES, _FINAL = 0, 1, 2


async def aggregate(run: StageContext, state: State, patches: Sequence[Patch]) -> Patch:
    """Return one patch with the merged edits; without edits where none came in."""
    failures, successes = (_side(run, patches, source_type) for source_type in ("failure", "success"))
    run.emit(StageStarted("aggregate", state.epoch, state.step))
    async with asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(_merge_levels(run, state, failures, _FAILURES)),
            group.create_task(_merge_levels(run, state, successes, _SUCCESSES)),
        ]
    merged = [patch for task in tasks for patch in task.result()]
    if len(merged) == 2:
        level = 1 + max(patch.merge_level for patch in merged)
        return await _merge(run, state, merged, _Call(_FINAL, level, 0))
    return merged[0] if merged else Patch("", (), "failure")


def _side(run: StageContext, patches: Sequence[Patch], source_type: SourceType) -> list[Patch]:
    """Return the patches of one side after merging duplicates over all of them; an edit stays where it came first."""
    side = [replace(patch, discarded=()) for patch in patches if patch.source_type == source_type]
    homes: dict[tuple[str, str, str], int] = {}
    for number, patch in enumerate(side):
        for edit in patch.edits:
            homes.setdefault((edit.operation, edit.target, edit.content), number)
    kept: list[list[Edit]] = [[] for _ in side]
    everything = [edit for patch in side for edit in patch.edits]
    for edit in merge_duplicates(everything, threshold=run.config.optimizer.near_duplicate):
        kept[homes[edit.operation, edit.target, edit.content]].append(edit)
    return [replace(patch, edits=tuple(own)) for patch, own in zip(side, kept, strict=True) if own]


async def _merge_levels(run: StageContext, state: State, patches: list[Patch], side: int) -> list[Patch]:
    """Merge level by level until at most one patch is left; a group of one passes through."""
    size = run.config.gradient.merge_batch_size
    level = 1
    while len(patches) > 1:
        groups = [(number, patches[start : start + size]) for number, start in enumerate(range(0, len(patches), size))]

        async def one(numbered: tuple[int, list[Patch]], level: int = level) -> Patch:
            number, group = numbered
            return group[0] if len(group) == 1 else await _merge(run, state, group, _Call(side, level, number))

        patches = await map_ordered(one, groups, limit=run.config.gradient.analyst_workers)
        level += 1
    return patches


async def _merge(run: StageContext, state: State, patches: Sequence[Patch], call: _Call) -> Patch:
    """Merge two or more patches by one optimizer call, or fall back to concatenation."""
    edits = [edit for patch in patches for edit in patch.edits]
    source_type: SourceType = "failure" if any(patch.source_type == "failure" for patch in patches) else "success"
    task_ids = _in_order(patch.task_ids for patch in patches)
    reply = await _ask(run, state, edits, call)
    run.emit(StageProgress("aggregate", state.epoch, state.step, 1, 1, outcome="done" if reply else "dropped"))
    if reply is None:
        run.count("merge_fallbacks")
        kept, discarded = failures_first(edits)
        reasoning = "\n".join(patch.reasoning for patch in patches if patch.reasoning)
    else:
        kept, discarded = _read_merged(reply, edits, source_type)
        reasoning = reply.reasoning or reply.drop_all_reason
    return Patch(
        reasoning=reasoning,
        edits=tuple(replace(edit, merge_level=call.level) for edit in kept),
        source_type=source_type,
        task_ids=task_ids,
        discarded=tuple(entry for patch in patches for entry in patch.discarded) + discarded,
        merge_level=call.level,
    )


async def _ask(run: StageContext, state: State, edits: Sequence[Edit], call: _Call) -> MergeReply | None:
    """Return the optimizer's merge, or None where it cannot be used; a provider that can never answer ends the run."""
    messages = render(
        "aggregate",
        purpose=run.environment.purpose,
        skill=show_skill(state),
        rejections=show_rejections(state),
        edits=show_edits(edits),
    )
    place = Place("aggregate", state.epoch, state.step, call.index)
    answer = await run.ask(messages, place, MergeReply, may_fall_back=True)
    if answer.value is None or (not answer.value.edits and not answer.value.drop_all_reason):
        return None
    return answer.value


def _read_merged(
    reply: MergeReply, edits: Sequence[Edit], source_type: SourceType
) -> tuple[tuple[Edit, ...], tuple[Discarded, ...]]:
    """Read merged edits; each takes support and tasks from the edits that it names as its sources."""
    kept: list[Edit] = []
    discarded: tuple[Discarded, ...] = ()
    for entry in reply.edits:
        read, unreadable = read_edits([entry], source_type=source_type, task_ids=())
        discarded += unreadable
        kept.extend(_with_sources(edit, _sources(entry, edits)) for edit in read)
    return tuple(kept), discarded


def _sources(entry: object, edits: Sequence[Edit]) -> list[Edit]:
    named = (as_object(entry) or {}).get("sources")
    numbers = cast("list[object]", named) if isinstance(named, list) else []
    valid = {number for number in numbers if type(number) is int and 0 <= number < len(edits)}
    return [edits[number] for number in sorted(valid)]


def _with_sources(edit: Edit, sources: Sequence[Edit]) -> Edit:
    """Count the support of the named sources; an edit that names none stands for itself."""
    if not sources:
        return edit
    return replace(
        edit,
        support_count=sum(source.support_count for source in sources),
        source_type="failure" if any(source.source_type == "failure" for source in sources) else "success",
        task_ids=_in_order(source.task_ids for source in sources),
    )


def failures_first(edits: Sequence[Edit]) -> tuple[tuple[Edit, ...], tuple[Discarded, ...]]:
    """Return the edits with those from failures ahead; on the same target an edit from failures wins.

    Returns:
        The edits that stay, and those from successes that gave way.
    """
    failures = [edit for edit in edits if edit.source_type == "failure"]
    taken = {" ".join(edit.target.split()) for edit in failures if edit.target.strip()}
    kept, discarded = list(failures), list[Discarded]()
    for edit in edits:
        if edit.source_type == "success" and " ".join(edit.target.split()) in taken:
            entry = shown({"op": edit.operation.value, "target": edit.target, "content": edit.content})
            discarded.append(Discarded(entry, EditState.DUPLICATE, "an edit from failures changes the same place"))
        elif edit.source_type == "success":
            kept.append(edit)
    return tuple(kept), tuple(discarded)


def _in_order(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Unite ids, each once, in the order of first appearance."""
    return tuple(dict.fromkeys(identifier for group in groups for identifier in group))
