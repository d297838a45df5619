# pyright: reportUnknownMemberType=false
"""The picture of a training as a PNG image: the same bytes for the same records."""

from __future__ import annotations

import io
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from skillopt.report.course import Course
from skillopt.report.figures import plot_dashboard

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_NAME = "training_dashboard.png"
"""The picture of a training, in its run directory."""


def draw(course: Course, summary: Mapping[str, Any] | None) -> bytes:
    """Return the picture of a training: scores, edits and spending on one page, and below the title how it ended.

    Args:
        course: The training.
        summary: What summary.json holds; None while it is still going.
    """
    return png(plot_dashboard(course, note=ending(course, summary)))


def ending(course: Course, summary: Mapping[str, Any] | None) -> str:
    """Return how a training ended and what it came to, in a line: k/n of both skills, and whether it was simulated."""
    if summary is None:
        return f"still going: {course.points[-1].step} steps so far"
    scores = [
        f"{name} {split['seed']['shown']} to {split['best']['shown']}"
        for name, split in (("selection", summary.get("selection")), ("held out", summary.get("test")))
        if split and split["seed"] and split["best"]
    ]
    simulated = ["SIMULATED MODELS"] if summary.get("simulated") else []
    return "; ".join([str(summary["state"]), *scores, *simulated])


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
