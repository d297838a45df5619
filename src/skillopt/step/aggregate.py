"""Stage 3: edits that say the same are merged, failures ahead of successes.

First exact and near duplicates are merged without a model. What is left is merged by the optimizer, hierarchically
in groups of `merge_batch_size`, failures and successes side by side, then the two with the failures first. A merge
that fails costs nothing that went into it: the group's edits are concatenated and the fall-back is counted. What a
merge leaves out is kept with the reason.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import Literal, cast

from skillopt.concurrency import map_ordered
from skillopt.context import StageContext
from skillopt.events import StageProgress, StageStarted
from skillopt.prompts import render
from skillopt.skill.edits import target_lines
from skillopt.state import State
from skillopt.step.copies import refuse_copies
from skillopt.step.duplicates import merge_duplicates
from skillopt.step.limits import show_limits
from skillopt.step.replies import MergeReply, as_object, edits_schema, read_edits, shown
from skillopt.step.showing import show_edits, show_memory, show_rejections, show_skill
from skillopt.types import Discarded, Edit, EditState, Patch


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
    """Return one patch with the merged edits; without edits where none came in. Rewrites are kept side by side."""
    distinct = _without_duplicates(run, patches)
    failures, successes = (
        [patch for patch in distinct if patch.source_type == side] for side in ("failure", "success")
    )
    run.emit(StageStarted("aggregate", state.epoch, state.step))
    merger = _Merger(run, state)
    sides = ((failures, _FAILURES), (successes, _SUCCESSES))
    merged = await map_ordered(merger.merge_levels, sides, limit=len(sides))
    level = 1 + max(patch.merge_level for patch in merged)
    whole = await merger.merge(merged, _Call(_FINAL, level, 0))
    final = refuse_copies(run, state, whole)
    return replace(final, rewrites=tuple(rewrite for patch in patches for rewrite in patch.rewrites))


def _without_duplicates(run: StageContext, patches: Sequence[Patch]) -> list[Patch]:
    """Return the patches after merging duplicates over all of them; an edit stays where it came first, failures ahead.

    What each patch discarded is its own and counted there, so it does not go on.
    """
    ordered = sorted(patches, key=lambda patch: patch.source_type != "failure")
    homes: dict[tuple[str, str, str], int] = {}
    for number, patch in enumerate(ordered):
        for edit in patch.edits:
            homes.setdefault((edit.operation, edit.target, edit.content), number)
    kept: list[list[Edit]] = [[] for _ in ordered]
    everything = [edit for patch in ordered for edit in patch.edits]
    for edit in merge_duplicates(everything, threshold=run.config.optimizer.near_duplicate):
        kept[homes[edit.operation, edit.target, edit.content]].append(edit)
    return [replace(patch, edits=tuple(own), discarded=()) for patch, own in zip(ordered, kept, strict=True) if own]


class _Merger:
    """The merges of one step, at most `analyst_workers` of them at once over both sides."""

    def __init__(self, run: StageContext, state: State) -> None:
        self._run = run
        self._state = state
        self._slots = asyncio.Semaphore(run.config.gradient.analyst_workers)
        self._done = 0

    async def merge_levels(self, numbered_side: tuple[Sequence[Patch], int]) -> Patch:
        """Merge one side level by level until one patch is left."""
        patches, side = numbered_side
        size, level = self._run.config.gradient.merge_batch_size, 1
        while len(patches) > 1:
            groups = [patches[start : start + size] for start in range(0, len(patches), size)]
            calls = [(group, _Call(side, level, number)) for number, group in enumerate(groups)]
            patches = await map_ordered(lambda call: self.merge(*call), calls, limit=len(calls))
            level += 1
        return patches[0] if patches else Patch("", (), "failure")

    async def merge(self, patches: Sequence[Patch], call: _Call) -> Patch:
        """Merge patches by one optimizer call, or fall back to concatenation; where one has edits nobody is asked."""
        edits = [edit for patch in patches for edit in patch.edits]
        whole = Patch(
            reasoning="\n".join(patch.reasoning for patch in patches if patch.reasoning),
            edits=tuple(edits),
            source_type="failure"
            if any(patch.source_type == "failure" for patch in patches if patch.edits)
            else "success",
            task_ids=_in_order(patch.task_ids for patch in patches),
            discarded=tuple(entry for patch in patches for entry in patch.discarded),
            merge_level=max(patch.merge_level for patch in patches),
        )
        if sum(bool(patch.edits) for patch in patches) <= 1:
            return whole
        async with self._slots:
            reply = await self._ask(edits, call)
        merge = _read_merged(reply, whole) if reply is not None else _Merge()
        reason = reply.drop_all_reason.strip() if reply is not None else ""
        failed = reply is None or not (merge.edits or reason)
        self._tell("dropped" if failed else "done")
        if failed:
            self._run.count("merge_fallbacks")
        kept, left_out = failures_first(edits) if failed else (merge.edits, _left_out(edits, merge, reason))
        return replace(
            whole,
            reasoning=whole.reasoning if reply is None or failed else reply.reasoning or reason,
            edits=tuple(replace(edit, merge_level=call.level) for edit in kept),
            discarded=whole.discarded + merge.invalid + left_out,
            merge_level=call.level,
        )

    async def _ask(self, edits: Sequence[Edit], call: _Call) -> MergeReply | None:
        """Return the optimizer's merge, or None where it gives none; a provider that can never answer ends the run."""
        messages = render(
            "aggregate",
            purpose=self._run.environment.purpose,
            skill=show_skill(self._state),
            limits=show_limits(self._run, self._state),
            rejections=show_rejections(self._state),
            memory=show_memory(self._state),
            edits=show_edits(edits),
        )
        place = self._state.place("aggregate", call.index)
        form = edits_schema(target_lines(self._state.skill), merge=True)
        return (await self._run.ask(messages, place, MergeReply, reply_schema=form, may_fall_back=True)).value

    def _tell(self, outcome: Literal["done", "dropped"]) -> None:
        self._done += 1
        self._run.emit(StageProgress("aggregate", self._state.epoch, self._state.step, self._done, 0, outcome=outcome))


@dataclass(frozen=True, slots=True)
class _Merge:
    """A merge as it was read.

    Attributes:
        edits: The merged edits.
        invalid: Entries that are no edits.
        stood_for: Numbers of the edits that went in and that a merged edit stands for.
    """

    edits: tuple[Edit, ...] = ()
    invalid: tuple[Discarded, ...] = ()
    stood_for: frozenset[int] = frozenset()


def _read_merged(reply: MergeReply, whole: Patch) -> _Merge:
    """Read merged edits; each takes support and tasks from the edits that it stands for.

    The support of an edit counts once, in the first merged edit that stands for it.
    """
    kept: list[Edit] = []
    discarded: tuple[Discarded, ...] = ()
    stood_for: set[int] = set()
    for entry in reply.edits:
        read, unreadable = read_edits([entry], source_type=whole.source_type, task_ids=whole.task_ids)
        discarded += unreadable
        for edit in read:
            sources = _sources(entry, edit, whole.edits)
            kept.append(_with_sources(edit, sources, uncounted=sources.keys() - stood_for))
            stood_for |= sources.keys()
    return _Merge(tuple(kept), discarded, frozenset(stood_for))


def _sources(entry: object, edit: Edit, edits: Sequence[Edit]) -> dict[int, Edit]:
    """Return, by number, the edits that an entry names; one that names none stands for those that it repeats."""
    named = (as_object(entry) or {}).get("sources")
    numbers = cast("list[object]", named) if isinstance(named, list) else []
    valid = sorted({number for number in numbers if type(number) is int and 0 <= number < len(edits)})
    return {number: edits[number] for number in valid or _repeated(edit, edits)}


def _repeated(edit: Edit, edits: Sequence[Edit]) -> list[int]:
    said = (edit.operation, edit.target, edit.content)
    return [n for n, other in enumerate(edits) if (other.operation, other.target, other.content) == said]


def _with_sources(edit: Edit, sources: Mapping[int, Edit], *, uncounted: Set[int]) -> Edit:
    """Count the support of sources that count nowhere yet; an edit without sources stands for itself alone."""
    if not sources:
        return edit
    return replace(
        edit,
        support_count=sum(sources[number].support_count for number in uncounted) or 1,
        source_type="failure" if any(source.source_type == "failure" for source in sources.values()) else "success",
        task_ids=_in_order(source.task_ids for source in sources.values()),
        cited=_in_order(source.cited for source in sources.values()),
    )


def _left_out(edits: Sequence[Edit], merge: _Merge, reason: str) -> tuple[Discarded, ...]:
    """Return the edits that no merged edit stands for. Where no edit names its sources, nobody can tell which."""
    if merge.edits and not merge.stood_for:
        return ()
    detail = "left out by the merge" if merge.edits else f"left out by the merge, which kept nothing: {reason}"
    return tuple(_gave_way(edit, detail) for number, edit in enumerate(edits) if number not in merge.stood_for)


def _gave_way(edit: Edit, detail: str) -> Discarded:
    entry = shown({"op": edit.operation.value, "target": edit.target, "content": edit.content})
    return Discarded(entry, EditState.DUPLICATE, detail)


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
            discarded.append(_gave_way(edit, "an edit from failures changes the same place"))
        elif edit.source_type == "success":
            kept.append(edit)
    return tuple(kept), tuple(discarded)


def _in_order(groups: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    """Unite ids, each once, in the order of first appearance."""
    return tuple(dict.fromkeys(identifier for group in groups for identifier in group))
