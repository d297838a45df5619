"""What a step, a slow update and a meta skill left in a run directory, file by file, as frozen values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import TypeAdapter

from skillopt.report import stored_rows as rows
from skillopt.report.reading import DirectoryReader

Rows: TypeAlias = tuple[rows.RolloutRow, ...]

_DRAW = re.compile(r"draw_\d{2,}", re.ASCII)
_PATCH = re.compile(r"patch_\d{3,}_\w+\.json", re.ASCII)

# Made once: making one takes longer than reading a file with it.
_ROLLOUTS = TypeAdapter(Rows)
_PATCH_FILE = TypeAdapter(rows.PatchRow)
_RANKED = TypeAdapter(rows.RankedRows)
_OUTCOMES = TypeAdapter(tuple[rows.EditOutcomeRow, ...])
_REWRITES = TypeAdapter(tuple[rows.RewriteRow, ...])
_NOTES = TypeAdapter(rows.NoteRows)
_MEMORISED = TypeAdapter(tuple[rows.MemorisedRow, ...])
_DROPPED = TypeAdapter(tuple[rows.DroppedReplyRow, ...])
_SLOW_RESULT = TypeAdapter(rows.SlowResult)
_META_RESULT = TypeAdapter(rows.MetaResult)
_PAIRS = TypeAdapter(tuple[rows.PairRow, ...])


@dataclass(frozen=True, slots=True)
class DrawFiles:
    """What the stages after the rollout made in one draw of a step; what a run did not write is empty or None.

    Attributes:
        place: Directory of the draw, below the run directory: the step's own for the draw that counts.
        patches: What reflection proposed, in the order of its calls.
        merged: The edits after merging.
        ranked: What selection left.
        outcomes: How each selected edit ended, in order.
        rewrites: How each rewrite of the whole skill ended.
        notes: The reminders of skill-aware reflection.
        memorised: Passages that edits copy from training tasks.
        dropped_replies: The optimizer's replies that a stage went on without.
        selection: What the candidate did at the gate.
        selection_again: What it did when it was measured again after its acceptance.
        candidate: The candidate's text.
    """

    place: str
    patches: tuple[rows.PatchRow, ...]
    merged: rows.PatchRow | None
    ranked: rows.RankedRows
    outcomes: tuple[rows.EditOutcomeRow, ...]
    rewrites: tuple[rows.RewriteRow, ...]
    notes: rows.NoteRows
    memorised: tuple[rows.MemorisedRow, ...]
    dropped_replies: tuple[rows.DroppedReplyRow, ...]
    selection: Rows
    selection_again: Rows
    candidate: str | None

    @property
    def edits(self) -> tuple[rows.EditOutcomeRow, ...]:
        """The edits of the draw as they are numbered from 1: those that were tried, then those over the budget."""
        return (*self.outcomes, *self.ranked.over_budget)


@dataclass(frozen=True, slots=True)
class StepFiles:
    """What one step left.

    Attributes:
        step: From 1.
        rollout: What the skill of the step did on its batch.
        refresh: The fresh pass of the current skill ahead of it; empty where there was none.
        lost: The draws that lost ahead of the one that counts.
        draw: The draw that counts.
    """

    step: int
    rollout: Rows
    refresh: Rows
    lost: tuple[DrawFiles, ...]
    draw: DrawFiles


@dataclass(frozen=True, slots=True)
class SlowUpdateFiles:
    """What the slow update of an epoch left.

    Attributes:
        epoch: From 2.
        result: What it wrote, why, and what came of it.
        pairs: The compared tasks.
        selection: What the skill with the guidance did on the selection split.
        candidate: The skill with the guidance.
    """

    epoch: int
    result: rows.SlowResult
    pairs: tuple[rows.PairRow, ...]
    selection: Rows
    candidate: str | None


@dataclass(frozen=True, slots=True)
class MetaSkillFiles:
    """What the meta skill of an epoch left: the memory, and the compared tasks where no slow update shows them."""

    epoch: int
    result: rows.MetaResult
    pairs: tuple[rows.PairRow, ...]


def step_place(step: int) -> str:
    """Return the directory of a step below the run directory."""
    return f"steps/step_{step:04d}"


def slow_update_place(epoch: int) -> str:
    """Return the directory of an epoch's slow update below the run directory."""
    return f"slow_update/epoch_{epoch:02d}"


def read_rollouts(reader: DirectoryReader, place: str) -> Rows:
    """Return the rows of an evaluation's directory; none where there is none."""
    return reader.value(f"{place}/results.json", _ROLLOUTS, ())


def read_step(reader: DirectoryReader, step: int) -> StepFiles:
    """Return what a step left.

    Raises:
        RunDirectoryError: If one of its files cannot be read.
    """
    place = step_place(step)
    return StepFiles(
        step,
        rollout=read_rollouts(reader, f"{place}/rollout"),
        refresh=read_rollouts(reader, f"{place}/selection_eval_refresh"),
        lost=tuple(_read_draw(reader, f"{place}/{name}") for name in reader.names(place, _DRAW)),
        draw=_read_draw(reader, place),
    )


def _read_draw(reader: DirectoryReader, place: str) -> DrawFiles:
    patches = [
        reader.value(f"{place}/patches/{name}", _PATCH_FILE, None) for name in reader.names(f"{place}/patches", _PATCH)
    ]
    return DrawFiles(
        place,
        patches=tuple(patch for patch in patches if patch is not None),
        merged=reader.value(f"{place}/merged_patch.json", _PATCH_FILE, None),
        ranked=reader.value(f"{place}/ranked_edits.json", _RANKED, rows.RankedRows()),
        outcomes=reader.value(f"{place}/edit_apply_report.json", _OUTCOMES, ()),
        rewrites=reader.value(f"{place}/rewrite_result.json", _REWRITES, ()),
        notes=reader.value(f"{place}/appendix_notes.json", _NOTES, rows.NoteRows()),
        memorised=reader.value(f"{place}/memorised.json", _MEMORISED, ()),
        dropped_replies=reader.value(f"{place}/dropped_replies.json", _DROPPED, ()),
        selection=read_rollouts(reader, f"{place}/selection_eval"),
        selection_again=read_rollouts(reader, f"{place}/selection_eval_again"),
        candidate=reader.text(f"{place}/candidate_skill.md"),
    )


def read_slow_update(reader: DirectoryReader, epoch: int) -> SlowUpdateFiles | None:
    """Return what the slow update of an epoch left; None where there was none.

    Raises:
        RunDirectoryError: If one of its files cannot be read.
    """
    place = slow_update_place(epoch)
    result = reader.value(f"{place}/slow_result.json", _SLOW_RESULT, None)
    if result is None:
        return None
    return SlowUpdateFiles(
        epoch,
        result,
        pairs=_read_pairs(reader, place),
        selection=read_rollouts(reader, f"{place}/selection_eval"),
        candidate=reader.text(f"{place}/candidate_skill.md"),
    )


def read_meta_skill(reader: DirectoryReader, epoch: int) -> MetaSkillFiles | None:
    """Return what the meta skill of an epoch left; None where there was none.

    Raises:
        RunDirectoryError: If one of its files cannot be read.
    """
    place = f"meta_skill/epoch_{epoch:02d}"
    result = reader.value(f"{place}/meta_skill_result.json", _META_RESULT, None)
    return None if result is None else MetaSkillFiles(epoch, result, _read_pairs(reader, place))


def _read_pairs(reader: DirectoryReader, place: str) -> tuple[rows.PairRow, ...]:
    return reader.value(f"{place}/comparison_pairs.json", _PAIRS, ())
