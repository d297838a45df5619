"""The draws of a step, and the difference between two skills, as pages show them: values, nothing of their looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skillopt.report.course import Record
from skillopt.report.flips import Flips
from skillopt.report.run_files import RunFiles
from skillopt.report.step_files import DrawFiles
from skillopt.report.stored_rows import EditOutcomeRow, MemorisedRow
from skillopt.report.text_diff import DiffLine, changed, diff


@dataclass(frozen=True, slots=True)
class SkillDiff:
    """The difference between two skills.

    Attributes:
        lines: What is shown of it.
        added: Lines that were added, those that are not shown among them.
        removed: Lines that were removed.
        left_out: Lines of the difference that are not shown.
    """

    lines: tuple[DiffLine, ...]
    added: int
    removed: int
    left_out: int


@dataclass(frozen=True, slots=True)
class DrawPart:
    """One draw of a step: its candidate, its edits with their ends, what the gate made of it.

    Attributes:
        title: What it is called on the page.
        action: The gate's word.
        reason: Why, in words.
        files: What it left on disk.
        edits: Every edit that was selected, and those over the budget.
        copies: Passages that an edit copies from training tasks, by the edit's number from 0.
        change: What the candidate changes in the current skill; None where there is no candidate.
        flips: The selection tasks that it fixed and broke; None where it was not measured.
    """

    title: str
    action: str
    reason: str
    files: DrawFiles
    edits: tuple[EditOutcomeRow, ...]
    copies: Mapping[int, tuple[MemorisedRow, ...]]
    change: SkillDiff | None
    flips: Flips | None


def skill_diff(old: str, new: str, *, most: int) -> SkillDiff:
    """Return the difference between two skills, at most so many lines of it."""
    return diff_of_lines(diff(old, new), most=most)


def diff_of_lines(lines: tuple[DiffLine, ...], *, most: int) -> SkillDiff:
    """Return a difference with its counts, at most so many lines of it."""
    return SkillDiff(lines[:most], *changed(lines), left_out=max(0, len(lines) - most))


def draws(files: RunFiles, step: int, record: Record, *, most_lines: int) -> tuple[DrawPart, ...]:
    """Return the draws of a step, the one that counts first; none where it left no files.

    Args:
        files: The run.
        step: From 1.
        record: Its record; empty for a step that has none yet.
        most_lines: Lines of a candidate's difference that are shown at most.
    """
    left, before = files.step(step), files.skill(step - 1)
    if left is None:
        return ()
    lost: Sequence[Record] = record.get("redraws") or ()

    def draw(one: DrawFiles, told: Record, title: str, number: int) -> DrawPart:
        change = None
        if before is not None and one.candidate is not None:
            change = skill_diff(before, one.candidate, most=most_lines)
        return _draw(one, told, title=title, change=change, found=files.flips(step, draw=number))

    numbered = enumerate(zip(lost, left.lost, strict=False), start=1)
    return (
        draw(left.draw, record, "The draw that counts", 0),
        *(draw(one, told, f"Draw {number}, which lost", number) for number, (told, one) in numbered),
    )


def _draw(draw: DrawFiles, told: Record, *, title: str, change: SkillDiff | None, found: Flips | None) -> DrawPart:
    copies: dict[int, tuple[MemorisedRow, ...]] = {}
    for row in draw.memorised:
        if row.edit is not None:
            copies[row.edit] = (*copies.get(row.edit, ()), row)
    return DrawPart(
        title,
        str(told.get("action", "")),
        str(told.get("reason", "")),
        draw,
        edits=draw.edits,
        copies=copies,
        change=change,
        flips=found,
    )
