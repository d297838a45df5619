"""A figure as a PNG file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import matplotlib
import pytest
from matplotlib.figure import Figure

from skillopt.report.course import Course
from skillopt.report.picture import draw, ending, png
from skillopt.report.run_files import RunFiles


def drawn(title: str) -> Figure:
    figure = Figure(figsize=(2, 1))
    figure.suptitle(title)
    return figure


def test_the_same_figure_is_the_same_bytes() -> None:
    assert png(drawn("a")) == png(drawn("a")) != png(drawn("b"))
    assert b"Software" not in png(drawn("a"))


def test_the_picture_of_a_training_is_in_no_style_of_who_runs_it(
    eventful: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    course = RunFiles(eventful).course
    before = draw(course, "told", simulated=True)
    for setting, value in {"figure.facecolor": "black", "savefig.bbox": "tight", "text.usetex": True}.items():
        monkeypatch.setitem(matplotlib.rcParams, setting, value)
    assert draw(course, "told", simulated=True) == before
    assert matplotlib.rcParams["figure.facecolor"] == "black", "and it is left to them"


def test_a_character_that_the_font_lacks_is_no_warning() -> None:
    """Warnings are errors in these tests."""
    assert png(drawn("\N{COMBINING LATIN SMALL LETTER A}训练")).startswith(b"\x89PNG")


def test_the_end_is_told_with_counts(eventful: Path) -> None:
    """F93, F130: scores are printed as k/n."""
    files = RunFiles(eventful)
    assert files.summary is not None
    said = ending(files.course, files.summary)
    seed, best = files.summary["selection"]["seed"], files.summary["selection"]["best"]
    assert said.startswith(f"{files.summary['state']}; selection {seed['solved']}/{seed['measured']} ")
    assert f"to {best['solved']}/{best['measured']} " in said
    assert f"; held out {files.summary['test']['seed']['shown']} to" in said
    assert said.endswith(f", {100 * files.summary['test_delta_hard']:+.1f} points")


def test_a_gain_that_the_held_out_tasks_do_not_show_is_called_that(eventful: Path) -> None:
    files = RunFiles(eventful)
    assert files.summary is not None
    for delta, told in ((0.0, ", +0.0 points: not better"), (-0.25, ", -25.0 points: not better"), (None, " %)")):
        assert ending(files.course, {**files.summary, "test_delta_hard": delta}).endswith(told)
    seed = {**files.summary, "test_delta_hard": 0.0, "best_step": 0}
    assert "points" not in ending(files.course, seed), "there is no other skill"


def test_scores_of_fresh_passes_are_called_that(eventful: Path) -> None:
    """They are not those of the curves, which the gate measured."""
    files = RunFiles(eventful)
    assert files.summary is not None
    assert "fresh" not in ending(files.course, files.summary)
    told = ending(files.course, {**files.summary, "final": {"passes": {"n": 2}}})
    assert "in fresh passes; held out" in told


def test_a_run_without_an_end_and_one_without_a_test_say_what_they_have(eventful: Path) -> None:
    files = RunFiles(eventful)
    assert files.summary is not None
    assert ending(files.course, None).startswith("no end is recorded after 8 steps")
    one = replace(files.course, points=files.course.points[:2])
    assert ending(one, None).startswith("no end is recorded after 1 step:")
    assert "held out" not in ending(files.course, {**files.summary, "test": {"seed": None, "best": None}})


def test_the_picture_has_the_end_in_it_and_that_it_was_simulated(
    eventful: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes: list[str] = []

    def plot(course: Course, *, note: str) -> Figure:
        notes.append(note)
        return drawn(note)

    monkeypatch.setattr("skillopt.report.picture.plot_dashboard", plot)
    for simulated in (True, False):
        assert draw(RunFiles(eventful).course, "improved", simulated=simulated).startswith(b"\x89PNG")
    assert notes == ["SIMULATED MODELS; improved", "improved"]
