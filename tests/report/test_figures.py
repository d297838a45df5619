"""The pictures: what they show, for any course."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes

from skillopt.report.course import Candidate, Course, Spent, StepPoint
from skillopt.report.figures import plot_dashboard, plot_edits, plot_scores, plot_spending
from skillopt.report.picture import png

BASELINE = StepPoint(
    *(0, 0, "baseline", "", "not judged", None, 0.25, 0.25, None, None, None, 0, 0, 50),
    spent={"target": Spent(100, 0.5), "optimizer": Spent(0, 0.0)},
)


def step(number: int, *, epoch: int = 1, **changes: object) -> StepPoint:
    values: dict[str, object] = {"step": number, "epoch": epoch, "verdict": "rejected", "train": 0.5, "budget": 2}
    spent = {"target": Spent(100 * number, 0.5 * number), "optimizer": Spent(10 * number, 0.1 * number)}
    return replace(BASELINE, **{**values, "spent": spent, **changes})  # type: ignore[arg-type]


COURSE = Course(
    "my run",
    "hard",
    (
        BASELINE,
        step(
            1,
            verdict="accepted",
            candidate=Candidate(0.5, bound=False, accepted=True),
            current=0.5,
            best=0.5,
            proposed=3,
            applied=2,
        ),
        step(2, candidate=Candidate(0.5, bound=True, accepted=False), current=0.5, best=0.5, proposed=3, applied=2),
        step(
            3,
            epoch=2,
            candidate=Candidate(0.25, bound=False, accepted=False),
            slow_update=Candidate(0.75, bound=False, accepted=True),
            current=0.75,
            best=0.75,
        ),
    ),
)


def labels(axes: Axes) -> list[str]:
    return axes.get_legend_handles_labels()[1]


def marks(axes: Axes, label: str) -> list[tuple[float, float]]:
    """Where the marks with a label stand."""
    (drawn,) = [collection for collection in axes.collections if collection.get_label() == label]
    return [(float(x), float(y)) for x, y in drawn.get_offsets()]  # type: ignore[union-attr]


def test_scores_show_baseline_skill_and_what_the_gate_did() -> None:
    (axes,) = plot_scores(COURSE).axes
    assert labels(axes)[0] == "baseline, 25.0 %"
    dashed = [line for line in axes.get_lines() if line.get_linestyle() == "--"]
    assert [list(line.get_ydata()) for line in dashed] == [[25.0, 25.0]]  # type: ignore[arg-type]
    assert marks(axes, "candidate accepted") == [(1, 50)]
    assert marks(axes, "candidate rejected") == [(3, 25)]
    assert marks(axes, "rejected early: at most") == [(2, 50)]
    assert marks(axes, "slow update (filled: taken)") == [(3, 75)]
    current = next(line for line in axes.get_lines() if line.get_label() == "current skill, selection")
    assert current.get_drawstyle() == "steps-post", "a skill counts from its step on"
    assert list(current.get_ydata()) == [25, 50, 50, 75]  # type: ignore[arg-type]
    assert [line.get_xdata()[0] for line in axes.get_lines() if line.get_gid() == "epoch bound"] == [2.5]  # type: ignore[index]


def test_the_legend_of_the_scores_leaves_the_width_to_the_plot_and_its_title() -> None:
    for figure in (plot_scores(COURSE), plot_dashboard(COURSE)):
        png(figure)
        plot, legend = figure.axes[0], figure.axes[0].get_legend()
        assert legend is not None
        box, shown = plot.get_window_extent(), legend.get_window_extent()
        heading = next(
            text for text in plot.get_children() if getattr(text, "get_text", str)() == plot.get_title("left")
        )
        assert shown.y0 >= box.y1 - 1, "above the plot"
        assert shown.x0 > heading.get_window_extent().x1, "beside its title"
        assert box.width > 0.85 * figure.get_size_inches()[0] * figure.dpi


@pytest.mark.parametrize(("ends", "named"), [((), 0), ((2,), 2), (tuple(range(1, 30)), 0)])
def test_epochs_are_named_where_there_is_room(ends: tuple[int, ...], named: int) -> None:
    points = [BASELINE, *(step(number, epoch=1 + sum(end < number for end in ends)) for number in range(1, 40))]
    (axes,) = plot_scores(replace(COURSE, points=tuple(points))).axes
    assert [text.get_text() for text in axes.texts] == [f"epoch {number}" for number in range(1, named + 1)]


@pytest.mark.parametrize(("metric", "label"), [("hard", "tasks solved, % (hard)"), ("polite", "score, % (polite)")])
def test_the_axis_of_the_scores_says_what_they_are_shares_of(metric: str, label: str) -> None:
    assert plot_scores(replace(COURSE, metric=metric)).axes[0].get_ylabel() == label


def test_edits_show_the_budget_and_what_became_of_them() -> None:
    (axes,) = plot_edits(COURSE).axes
    assert set(labels(axes)) == {"applied, accepted", "applied, not accepted", "proposed", "budget (learning rate)"}
    bars = [[(bar.get_center()[0], bar.get_height()) for bar in container] for container in axes.containers]  # type: ignore[attr-defined]
    assert bars == [[(1, 2)], [(2, 2)]], "what has no height has no edge either"
    (axes,) = plot_edits(replace(COURSE, points=COURSE.points[:2])).axes
    assert "applied, not accepted" not in labels(axes), "what there is not needs no word"


def test_the_budget_of_a_single_step_is_seen() -> None:
    (axes,) = plot_edits(replace(COURSE, points=COURSE.points[:2])).axes
    (budget,) = [line for line in axes.get_lines() if line.get_label() == "budget (learning rate)"]
    assert (list(budget.get_xdata()), list(budget.get_ydata())) == ([0.5, 1.5], [2, 2])  # type: ignore[arg-type]


def test_the_words_say_what_is_counted() -> None:
    (scores,) = plot_scores(COURSE).axes
    assert "training batch (solved)" in labels(scores)
    (scores,) = plot_scores(replace(COURSE, trained_on="seen so far")).axes
    assert "training tasks seen so far (solved)" in labels(scores)
    (edits,) = plot_edits(replace(COURSE, changed_by="rewrites")).axes
    assert edits.get_ylabel() == "rewrites"


def test_spending_shows_the_dollars_of_each_role_whose_price_is_known() -> None:
    """F11: an unknown price is never shown as nothing."""
    left, right = plot_spending(COURSE).axes
    assert left.get_title(loc="left").endswith("without the test at the end?"), "which may be most of the bill"
    assert labels(right) == ["target, dollars", "optimizer, dollars"]
    assert list(right.get_lines()[1].get_ydata()) == [0.0, 0.1, 0.2, pytest.approx(0.3)]  # type: ignore[comparison-overlap]
    unknown = replace(COURSE.points[2], spent={"target": Spent(1, None), "optimizer": Spent(1, 0.1)})
    _, right = plot_spending(replace(COURSE, points=(*COURSE.points[:2], unknown))).axes
    assert labels(right) == ["optimizer, dollars"]
    free = replace(BASELINE, spent={"target": Spent(1, 0.0), "optimizer": Spent(1, None)})
    assert len(plot_spending(replace(COURSE, points=(free,))).axes) == 1


def test_the_page_holds_all_three_in_the_size_of_a_slide() -> None:
    figure = plot_dashboard(COURSE, note="improved, $5 spent")
    assert len(figure.axes) == 4
    width, height = figure.get_size_inches() * figure.dpi
    assert (round(width), round(height)) == (1600, 900)
    assert png(figure).startswith(b"\x89PNG")
    assert png(plot_dashboard(COURSE)) == png(plot_dashboard(COURSE)), "equal courses give equal bytes"


@pytest.mark.parametrize("steps", [0, 1, 200])
def test_a_course_of_any_length_is_drawn(steps: int) -> None:
    png(plot_dashboard(Course("r", "mixed", (BASELINE, *(step(number) for number in range(1, steps + 1))))))


@settings(max_examples=10, deadline=None)
@given(st.text(max_size=200), st.text(max_size=200))
def test_any_name_and_note_is_shown_as_it_stands(name: str, note: str) -> None:
    """Hostile text is no formula: `$x^` alone would be an error."""
    for text in (name, f"{name}$x^", "a\n$\\frac{"):
        png(plot_scores(replace(COURSE, name=text + note, metric=text, points=COURSE.points[:1])))


def test_drawing_touches_nothing_global() -> None:
    png(plot_dashboard(COURSE))
    assert "matplotlib.pyplot" not in sys.modules
