"""Figures for whatever stands for a run in a notebook."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from matplotlib.figure import Figure

from skillopt.errors import DataError, RunDirectoryError
from skillopt.report.picture import PICTURE_NAME, draw, ending, png
from skillopt.report.run_files import RunFiles
from skillopt.report.run_plots import plot_dashboard, plot_edits, plot_scores, plot_spending
from skillopt.report.run_source import RunSource

PLOTS = (plot_scores, plot_edits, plot_spending, plot_dashboard)


def title(figure: Figure) -> str:
    return figure.get_suptitle()


@pytest.mark.parametrize("plot", PLOTS)
def test_a_figure_is_the_same_for_each_name_of_a_run(plot: Callable[[RunSource], Figure], eventful: Path) -> None:
    pictures = {png(plot(source)) for source in (eventful, str(eventful), eventful / "history.json")}
    assert len(pictures) == 1


@pytest.mark.parametrize("plot", PLOTS)
def test_records_are_drawn_without_a_word_on_their_run(plot: Callable[[RunSource], Figure], eventful: Path) -> None:
    records: list[dict[str, Any]] = json.loads((eventful / "history.json").read_text("utf-8"))
    assert title(plot(records)).startswith("records")
    assert len(plot(records).axes) == len(plot(eventful).axes)


@pytest.mark.parametrize("plot", PLOTS[:3])
def test_a_figure_of_simulated_models_says_so(plot: Callable[[RunSource], Figure], eventful: Path) -> None:
    assert title(plot(eventful)).startswith("SIMULATED MODELS; run: ")


def test_the_page_of_all_three_is_the_picture_of_the_run(eventful: Path) -> None:
    files = RunFiles(eventful)
    told = draw(files.course, ending(files.course, files.summary), simulated=True)
    assert png(plot_dashboard(eventful)) == told


def test_a_run_that_is_still_going_is_drawn_as_far_as_it_is(eventful: Path, tmp_path: Path) -> None:
    for name in ("history.json", "config.yaml"):
        shutil.copy(eventful / name, tmp_path)
    said = title(plot_dashboard(tmp_path))
    assert "SIMULATED MODELS; no end is recorded after 8 steps" in said
    assert not (tmp_path / PICTURE_NAME).exists(), "a figure is drawn, and nothing is written"


@pytest.mark.parametrize("plot", PLOTS)
def test_what_has_no_course_is_an_error_of_ours(plot: Callable[[RunSource], Figure], tmp_path: Path) -> None:
    with pytest.raises(DataError):
        plot([])
    (tmp_path / "events.jsonl").touch()
    with pytest.raises(RunDirectoryError):
        plot(tmp_path)
