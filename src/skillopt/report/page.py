"""What the page of a run shows, gathered and worded: a reader of its directory in, frozen values out.

Everything is text or a number; how it looks is the template's, and that hostile text stays text is `html.py`'s part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from skillopt.report.card import run_card
from skillopt.report.charts import chart_data
from skillopt.report.course import Course, Record, StepPoint
from skillopt.report.diagnosis import Finding, diagnose
from skillopt.report.end_words import after_the_last_step, difference, shown_scores
from skillopt.report.flips import Flips
from skillopt.report.gain import Part, gained
from skillopt.report.picture import ending
from skillopt.report.run_files import RunFiles
from skillopt.report.spending import SpendingLine, stages, totals
from skillopt.report.step_files import DrawFiles, MetaSkillFiles, SlowUpdateFiles
from skillopt.report.stored_rows import EditOutcomeRow, MemorisedRow
from skillopt.report.text_diff import DiffLine, changed, diff
from skillopt.types import JsonValue

_MOST_LINES, _MOST_LINES_OF_A_STEP = 2_000, 100
"""Lines of a difference that are shown: a page of 200 whole rewrites of a long skill could not be opened."""

NO_BASELINE = "the baseline was not measured, so there is no score yet"


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


@dataclass(frozen=True, slots=True)
class StepPart:
    """One step: its place in the course, its record, and its draws, the one that counts first."""

    point: StepPoint
    record: Record
    draws: tuple[DrawPart, ...]


@dataclass(frozen=True, slots=True)
class EpochPart:
    """What followed an epoch: the slow update with what it changed and broke, and the memory."""

    epoch: int
    slow_update: SlowUpdateFiles | None
    flips: Flips | None
    meta_skill: MetaSkillFiles | None


@dataclass(frozen=True, slots=True)
class SplitPart:
    """Seed and best skill on one split: k/n of each, the difference in words, the tasks that changed."""

    name: str
    seed: str
    best: str
    difference: str
    flips: Flips | None


@dataclass(frozen=True, slots=True)
class ReportPage:
    """The whole page.

    Attributes:
        name: Name of the run.
        state: How it ended, in a word; "" while no end is recorded.
        ending: How it ended and its scores, in a line.
        message: What happened, or what to do.
        models: Role and name of both models.
        simulated: Whether the numbers say nothing of real models.
        splits: Seed and best skill on the selection and the test split, as far as they were measured.
        remarks: Which fresh passes the scores were counted from.
        findings: What limits the result.
        course: Scores over steps; None before the baseline.
        charts: The numbers of the charts.
        steps: Every step.
        epochs: Every epoch that a slow update or a meta skill followed.
        best_change: From the seed to the best skill.
        best_skill: The best skill.
        spending: By role and stage, as the run used it.
        totals: By role, as the run used it; then what was paid, where the ledger says it.
        card: What is needed to repeat the run, key and value.
        config: config.yaml as it stands.
    """

    name: str
    state: str
    ending: str
    message: str
    models: tuple[tuple[str, str], ...]
    simulated: bool
    splits: tuple[SplitPart, ...]
    remarks: tuple[str, ...]
    findings: tuple[Finding, ...]
    course: Course | None
    charts: Mapping[str, JsonValue] | None
    steps: tuple[StepPart, ...]
    epochs: tuple[EpochPart, ...]
    best_change: SkillDiff | None
    best_skill: str | None
    spending: tuple[SpendingLine, ...]
    totals: tuple[SpendingLine, ...]
    card: tuple[tuple[str, str], ...]
    config: str


def report_page(files: RunFiles) -> ReportPage:
    """Gather the page of a run, of one that is still going too.

    Raises:
        RunDirectoryError: If a file of the run cannot be read.
    """
    summary, course = files.summary or {}, files.course if files.records else None
    seed, best, models = files.skill(0), files.best_skill, tuple(models_of(files.settings))
    return ReportPage(
        name=files.name,
        state=str(summary.get("state", "")),
        ending=ending(course, files.summary) if course else NO_BASELINE,
        message=str(summary.get("message", "")),
        models=models,
        # Before an end says so, the names do.
        simulated=bool(summary.get("simulated")) or any(name.startswith("simulated:") for _, name in models),
        splits=tuple(splits_of(files)),
        remarks=tuple(after_the_last_step(summary)),
        findings=findings_of(files),
        course=course,
        charts=None if course is None else chart_data(course),
        steps=() if course is None else tuple(_step(files, point) for point in course.points[1:]),
        epochs=epochs_of(files),
        best_change=None if seed is None or best is None else skill_diff(seed, best, most=_MOST_LINES),
        best_skill=best,
        spending=tuple(stages(summary)),
        totals=tuple(totals(files)),
        card=run_card(files),
        config=files.config or "",
    )


def findings_of(files: RunFiles) -> tuple[Finding, ...]:
    """Return what limits the result of a run; nothing while no end is recorded."""
    summary = files.summary or {}
    if not files.records or "selection" not in summary:
        return ()
    return diagnose(files.records, summary, selection=gained(files, "val"), test=gained(files, "test"))


def epochs_of(files: RunFiles) -> tuple[EpochPart, ...]:
    """Return what followed each epoch."""
    return tuple(
        EpochPart(epoch, files.slow_update(epoch), files.flips_of_slow_update(epoch), files.meta_skill(epoch))
        for epoch in files.epochs
    )


def skill_diff(old: str, new: str, *, most: int) -> SkillDiff:
    """Return the difference between two skills, at most so many lines of it."""
    lines = diff(old, new)
    return SkillDiff(lines[:most], *changed(lines), left_out=max(0, len(lines) - most))


def models_of(settings: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield role and name of both models."""
    configured: Mapping[str, Mapping[str, Any]] = settings.get("model") or {}
    for role in ("target", "optimizer"):
        if role in configured:
            yield role, str(configured[role].get("name", ""))


def splits_of(files: RunFiles) -> Iterator[SplitPart]:
    """Yield how seed and best skill did on each split that was measured with both; nothing while no end is recorded."""
    summary = files.summary or {}
    splits: Mapping[str, tuple[Literal["selection", "test"], Part]] = {
        "Selection split, which chose the best skill": ("selection", "val"),
        "Test split, held out": ("test", "test"),
    }
    for name, (split, part) in splits.items():
        scores: Record = summary.get(split) or {}
        seed, best = scores.get("seed"), scores.get("best")
        if seed and best:
            told = difference(summary, split) if summary.get("best_step") else "the best skill is the seed"
            yield SplitPart(name, shown_scores(seed), shown_scores(best), told, gained(files, part))


def _step(files: RunFiles, point: StepPoint) -> StepPart:
    record = next(record for record in files.records if record["step"] == point.step)
    return StepPart(point, record, draws(files, point.step, record, most_lines=_MOST_LINES_OF_A_STEP))


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
