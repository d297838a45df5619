"""A figure that is the value of a notebook's cell."""

from __future__ import annotations

from skillopt.report.picture import png
from skillopt.report.run_figure import RunFigure


def test_a_notebook_gets_the_picture_that_a_file_would_hold() -> None:
    figure = RunFigure(figsize=(2, 1))
    figure.suptitle("a run")
    assert figure._repr_png_() == png(figure)  # pyright: ignore[reportPrivateUsage]
    assert png(figure).startswith(b"\x89PNG")
