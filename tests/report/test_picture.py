"""A figure as a PNG file."""

from __future__ import annotations

from matplotlib.figure import Figure

from skillopt.report.picture import png


def drawn(title: str) -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.suptitle(title)
    return figure


def test_the_same_figure_is_the_same_bytes() -> None:
    assert png(drawn("a")) == png(drawn("a")) != png(drawn("b"))
    assert b"Software" not in png(drawn("a"))


def test_a_character_that_the_font_lacks_is_no_warning() -> None:
    """Warnings are errors in these tests."""
    assert png(drawn("\N{COMBINING LATIN SMALL LETTER A}训练")).startswith(b"\x89PNG")
