# pyright: reportUnknownMemberType=false
"""The picture of a training as a PNG image: the same bytes for the same records."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillopt.report.course import Course
from skillopt.report.end_words import points
from skillopt.report.figures import plot_dashboard
from skillopt.wording import SIMULATED, counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_NAME = "training_dashboard.png"
"""The picture of a training, in its run directory."""


def draw(course: Course, told: str, *, simulated: bool) -> bytes:
    """Return the picture of a training: scores, edits and spending on one page, in the same style everywhere.

    Args:
        course: The training.
        told: How it ended, for the line below the title: `ending`.
        simulated: Whether its numbers say nothing of real models; the line begins with that.
    """
    from matplotlib import style

    # Not in the style of whoever runs the training, who may draw white on black, or need TeX for it.
    with style.context("default"):
        return png(plot_dashboard(course, note=noted(told, simulated=simulated)))


def noted(told: str, *, simulated: bool) -> str:
    """Return a line of a picture; it begins with a warning where its numbers say nothing of real models."""
    return f"{SIMULATED}; {told}" if simulated else told


def ending(course: Course, summary: Mapping[str, Any] | None) -> str:
    """Return how a training ended and what it came to, in a line, with k/n of the seed and the best skill.

    Args:
        course: The training.
        summary: What summary.json holds; None where no end is recorded.
    """
    if summary is None:
        steps = counted(course.points[-1].step, "step")
        return f"no end is recorded after {steps}: the run is still going, or it was interrupted"
    scores = [
        f"{name} {split['seed']['shown']} to {split['best']['shown']}"
        for name, split in (("selection", summary.get("selection")), ("held out", summary.get("test")))
        if split and split["seed"] and split["best"]
    ]
    final: Mapping[str, Any] = summary.get("final") or {}
    if scores and final.get("passes"):
        scores[0] += " in fresh passes"
    delta = summary.get("test_delta_hard")
    if len(scores) == 2 and delta is not None and summary.get("best_step"):
        scores[1] += f", {points(delta)}" + ("" if delta > 0 else ": not better")
    return "; ".join([str(summary["state"]), *scores])


def png(figure: Figure) -> bytes:
    """Return a figure as a PNG image.

    A character that the font lacks is drawn as a box, without a warning for whoever named a run in a script of theirs.
    """
    out = io.BytesIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font", category=UserWarning)
        # Without the library's name and version, the same figure is the same bytes.
        figure.savefig(out, format="png", metadata={"Software": None})
    return out.getvalue()
