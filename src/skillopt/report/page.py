"""What the page of a run shows, gathered and worded: a reader of its directory in, frozen values out.

Everything is text or a number; how it looks is the template's, and that hostile text stays text is `html.py`'s part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from skillopt.report.card import is_simulated, models_by_role, run_card
from skillopt.report.charts import chart_data
from skillopt.report.course import Course, Record, StepPoint
from skillopt.report.diagnosis import Finding, diagnose
from skillopt.report.draws import DrawPart, SkillDiff, draws, skill_diff
from skillopt.report.end_words import after_the_last_step, difference, shown_scores
from skillopt.report.flips import Flips
from skillopt.report.gain import Part, gained
from skillopt.report.picture import ending
from skillopt.report.run_files import RunFiles
from skillopt.report.spending import SpendingLine, by_stage, totals
from skillopt.report.step_files import MetaSkillFiles, SlowUpdateFiles
from skillopt.report.worth import Worth, worth
from skillopt.types import JsonValue

_MOST_LINES, _MOST_LINES_OF_A_STEP = 2_000, 100
"""Lines of a difference that are shown: a page of 200 whole rewrites of a long skill could not be opened."""

NO_BASELINE = "the baseline was not measured, so there is no score yet"


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
        worth: What the gain is worth; None while no end with scores is recorded.
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
    worth: Worth | None
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
    seed, best, models = files.skill(0), files.best_skill, models_by_role(files)
    return ReportPage(
        name=files.name,
        state=str(summary.get("state", "")),
        ending=ending(course, files.summary) if course else NO_BASELINE,
        message=str(summary.get("message", "")),
        models=models,
        simulated=is_simulated(files),
        splits=tuple(splits_of(files)),
        worth=worth(files),
        remarks=tuple(after_the_last_step(summary)),
        findings=findings_of(files),
        course=course,
        charts=None if course is None else chart_data(course),
        steps=() if course is None else tuple(map(partial(_step, files), course.points[1:], files.records[1:])),
        epochs=epochs_of(files),
        best_change=None if seed is None or best is None else skill_diff(seed, best, most=_MOST_LINES),
        best_skill=best,
        spending=tuple(by_stage(summary)),
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
    return tuple(epoch_part(files, epoch) for epoch in files.epochs)


def epoch_part(files: RunFiles, epoch: int) -> EpochPart:
    """Return what followed one epoch."""
    return EpochPart(epoch, files.slow_update(epoch), files.flips_of_slow_update(epoch), files.meta_skill(epoch))


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


def _step(files: RunFiles, point: StepPoint, record: Record) -> StepPart:
    return StepPart(point, record, draws(files, point.step, record, most_lines=_MOST_LINES_OF_A_STEP))
