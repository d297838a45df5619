"""Pictures of a run for notebooks: the figures of the report, for whatever stands for a run there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from skillopt.report import figures
from skillopt.report.card import is_simulated
from skillopt.report.course import Course
from skillopt.report.picture import ending, noted
from skillopt.report.run_source import History, RunSource, read_history

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot_scores(run: RunSource) -> Figure:
    """Return a figure of scores over steps: training batch, current skill, candidates, slow updates, baseline.

    Args:
        run: A run directory, a history.json, what `skillopt.train` returned, or records.

    Raises:
        RunDirectoryError: If there is no history, one without a baseline yet, or one that cannot be read.
        DataError: If the records are none of a training.
    """
    return figures.plot_scores(_course(run))


def plot_edits(run: RunSource) -> Figure:
    """Return a figure of edits over steps: the budget, what was proposed, what was applied. Raises as `plot_scores`."""
    return figures.plot_edits(_course(run))


def plot_spending(run: RunSource) -> Figure:
    """Return a figure of tokens and dollars up to each step, by role. Raises as `plot_scores`."""
    return figures.plot_spending(_course(run))


def plot_dashboard(run: RunSource) -> Figure:
    """Return all three on one page that fits a slide, with how the run ended. Raises as `plot_scores`.

    Of bare records, and of a history.json under another name, nobody knows how the run ended.
    """
    history = read_history(run)
    if history.files is None:
        return figures.plot_dashboard(history.course)
    told = ending(history.course, history.files.summary)
    return figures.plot_dashboard(history.course, note=noted(told, simulated=is_simulated(history.files)))


def _course(run: RunSource) -> Course:
    history = read_history(run)
    return replace(history.course, name=noted(history.name, simulated=_known_as_simulated(history)))


def _known_as_simulated(history: History) -> bool:
    return history.files is not None and is_simulated(history.files)
