# pyright: reportUnknownMemberType=false
"""From a figure to a PNG file: the same bytes for the same figure, written whole or not at all."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PICTURE_NAME = "training_dashboard.png"
"""The picture of a training, in its run directory."""


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
