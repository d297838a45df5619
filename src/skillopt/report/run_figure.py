"""A figure that a notebook shows by itself, whether or not pyplot was ever imported there. It draws nothing."""

from __future__ import annotations

from matplotlib.figure import Figure


class RunFigure(Figure):
    """A matplotlib figure; IPython asks it for its picture when it is the value of a cell.

    A plain figure is shown as a picture only once pyplot is loaded, which sets up windows and global state.
    """

    def _repr_png_(self) -> bytes:
        from skillopt.report.picture import png

        return png(self)
