# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false
# The plotting library ships partial types; ours are complete.
"""Pictures of a training: scores, edits and spending, each alone or all of them on one page.

They are drawn with figures of their own, never through pyplot, so that nothing global is touched and no window opens.
Colours are Okabe and Ito's, which most colour-blind people can tell apart, and what a colour says a shape says too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from skillopt.report.course import Candidate, Course, dollars
from skillopt.text_files import plain
from skillopt.types import Role

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, RED, SKY, PURPLE, GREY = (
    *("#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7"),
    "#666666",
)

SLIDE = (13.33, 7.5)
"""Inches of a page that fills a wide slide."""
_ALONE = (9.0, 4.5)
_LONGEST_NAME = 160
"""Characters of a name or a note that are shown: so many fit a slide."""
_SCORES = {"hard": "tasks solved", "soft": "partial credit"}
"""What a score of the gate is a share of, by its metric."""
_MANY_EPOCHS = 12
_MANY_STEPS = 60
"""From so many steps on, points on lines would run into each other and are left out."""


def plot_scores(course: Course) -> Figure:
    """Draw scores over steps: training batch, current skill and candidates on the selection split, the baseline."""
    figure, axes = _figure(course, "scores")
    draw_scores(axes, course)
    return figure


def plot_edits(course: Course) -> Figure:
    """Draw edits over steps: the budget that the schedule gave, and what was applied of what was proposed."""
    figure, axes = _figure(course, "edits")
    draw_edits(axes, course)
    return figure


def plot_spending(course: Course) -> Figure:
    """Draw what each role used up to each step: tokens and, where its price is known, dollars."""
    figure, axes = _figure(course, "spending")
    draw_spending(axes, course)
    return figure


def plot_dashboard(course: Course, *, note: str = "") -> Figure:
    """Draw all three on one page that fits a slide.

    Args:
        course: The training.
        note: A line below the title, such as how the run ended.
    """
    from skillopt.report.run_figure import RunFigure

    figure = RunFigure(figsize=SLIDE, dpi=120, layout="constrained")
    grid = figure.add_gridspec(2, 2, height_ratios=(1.6, 1.0))
    draw_scores(figure.add_subplot(grid[0, :]), course, columns=4)
    draw_edits(figure.add_subplot(grid[1, 0]), course)
    draw_spending(figure.add_subplot(grid[1, 1]), course)
    figure.suptitle(_as_it_stands(course.name) + (f"\n{_as_it_stands(note)}" if note else ""), fontsize=11)
    return figure


def draw_scores(axes: Axes, course: Course, *, columns: int = 2) -> None:
    """Draw the scores of a training into a plot.

    Args:
        axes: The plot.
        course: The training.
        columns: Of the legend, which stands above the plot, to the right of its title.
    """
    points = course.points
    steps = [point.step for point in points]
    marker = "" if len(points) > _MANY_STEPS else "."
    baseline = 100 * points[0].current
    axes.axhline(baseline, color=GREY, linestyle="--", linewidth=1.2, label=f"baseline, {baseline:.1f} %")
    trained = [(point.step, 100 * point.train) for point in points if point.train is not None]
    if trained:
        x, y = zip(*trained, strict=True)
        label = "training batch" if course.trained_on == "batch" else "training tasks seen so far"
        axes.plot(x, y, color=SKY, linestyle=":", marker=marker, linewidth=1.4, label=f"{label} (solved)")
    current = [100 * point.current for point in points]
    axes.step(steps, current, where="post", color=BLUE, linewidth=2.4, label="current skill, selection")
    best = [100 * point.best for point in points]
    if best != current:
        axes.step(steps, best, where="post", color=PURPLE, linewidth=1.4, linestyle="-.", label="best skill so far")
    of_steps = [(point.step, point.candidate) for point in points if point.candidate]
    _draw_candidates(axes, of_steps)
    slow = [(point.step, point.slow_update) for point in points if point.slow_update]
    if slow:
        x, y = [step for step, _ in slow], [100 * candidate.score for _, candidate in slow]
        faces = [GREEN if candidate.accepted else "none" for _, candidate in slow]
        axes.scatter(
            x, y, marker="D", s=70, facecolors=faces, edgecolors=GREEN, zorder=5, label="slow update (filled: taken)"
        )
    _mark_epochs(axes, course)
    _name_epochs(axes, course)
    axes.set_ylabel(f"{_SCORES.get(course.metric, 'score')}, % ({_as_it_stands(course.metric)})")
    axes.set_ylim(-4, 110)  # room for the names of the epochs above what was drawn
    _finish(axes, course, title="Is it learning? Skill scores over steps")
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, fontsize=9, frameon=False, borderaxespad=0)


def _draw_candidates(axes: Axes, candidates: Sequence[tuple[int, Candidate]]) -> None:
    kinds = (
        ("candidate accepted", [c for c in candidates if c[1].accepted], "^", GREEN, GREEN),
        ("candidate rejected", [c for c in candidates if not c[1].accepted and not c[1].bound], "x", RED, RED),
        ("rejected early: at most", [c for c in candidates if not c[1].accepted and c[1].bound], "v", "none", RED),
    )
    for label, chosen, marker, face, edge in kinds:
        if chosen:
            x, y = [step for step, _ in chosen], [100 * candidate.score for _, candidate in chosen]
            if marker == "x":  # a cross has no inside, so it takes its colour as its face
                axes.scatter(x, y, marker=marker, s=55, zorder=4, label=label, color=edge)
            else:
                axes.scatter(x, y, marker=marker, s=55, zorder=4, label=label, facecolors=face, edgecolors=edge)


def draw_edits(axes: Axes, course: Course) -> None:
    """Draw the edit budget and the edits of a training into a plot."""
    points = course.points[1:]
    steps = [point.step for point in points]
    looks: dict[str, dict[str, Any]] = {
        "applied, accepted": {"color": GREEN},
        "applied, not accepted": {"color": "white", "edgecolor": RED, "hatch": "///"},
    }
    for accepted, (label, look) in zip((True, False), looks.items(), strict=True):
        chosen = [point for point in points if point.applied and (point.verdict == "accepted") == accepted]
        if chosen:  # a bar without a height would still have an edge
            axes.bar([p.step for p in chosen], [p.applied for p in chosen], width=0.7, label=label, **look)
    marks: dict[str, Any] = {"marker": "_", "markersize": 11, "markeredgewidth": 2, "linestyle": ""}
    axes.plot(steps, [point.proposed for point in points], color=GREY, label="proposed", **marks)
    budgets = [(point.step, point.budget) for point in points if point.budget is not None]
    if budgets:
        if len(budgets) == 1:  # a line of one point would not be seen
            (only, budget) = budgets[0]
            budgets = [(only - 0.5, budget), (only + 0.5, budget)]
        x, y = zip(*budgets, strict=True)
        axes.step(x, y, where="mid", color=ORANGE, linewidth=2, label="budget (learning rate)")
    _mark_epochs(axes, course)
    axes.set_ylabel(course.changed_by)
    axes.set_ylim(0, 1.35 * max(1.0, axes.get_ylim()[1]))  # room for the legend above what was drawn
    _whole_numbers(axes, vertical=True)
    _finish(axes, course, title="What did each step change?")
    axes.legend(fontsize=8, facecolor="white", edgecolor="none", framealpha=0.9, ncols=2, loc="upper right")


def draw_spending(axes: Axes, course: Course) -> None:
    """Draw what each role used up to each step: tokens to the left, dollars to the right where its price is known."""
    steps = [point.step for point in course.points]
    colours: tuple[tuple[Role, str], ...] = (("target", BLUE), ("optimizer", ORANGE))
    for role, colour in colours:
        tokens = [point.spent[role].tokens for point in course.points]
        axes.plot(steps, tokens, color=colour, linewidth=2, label=f"{role}, tokens")
    axes.set_ylabel("tokens so far")
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(lambda value, _: _short(value))
    lines = list(axes.get_lines())
    priced = [(role, colour, known) for role, colour in colours if (known := dollars(course, role))]
    if priced:
        right = axes.twinx()
        for role, colour, known in priced:
            right.plot(steps, known, color=colour, linestyle="--", linewidth=1.8, label=f"{role}, dollars")
        right.set_ylabel("dollars so far")
        right.set_ylim(bottom=0)
        right.yaxis.set_major_formatter(lambda value, _: f"${value:,.2f}")
        lines += right.get_lines()
    _finish(axes, course, title="What does it cost, without the test at the end?")
    axes.legend(lines, [str(line.get_label()) for line in lines], fontsize=8, frameon=False, loc="upper left")


def _figure(course: Course, what: str) -> tuple[Figure, Axes]:
    from skillopt.report.run_figure import RunFigure

    figure = RunFigure(figsize=_ALONE, dpi=120, layout="constrained")
    figure.suptitle(f"{_as_it_stands(course.name)}: {what}", fontsize=11)
    return figure, figure.add_subplot()


def _mark_epochs(axes: Axes, course: Course) -> None:
    for step in course.epoch_ends:
        axes.axvline(step + 0.5, color=GREY, linewidth=0.8, alpha=0.5, gid="epoch bound")


def _name_epochs(axes: Axes, course: Course) -> None:
    """Write at the top of a plot which epoch begins where; of one epoch there is nothing to tell, of many no room."""
    ends = course.epoch_ends
    if not 0 < len(ends) < _MANY_EPOCHS:
        return
    for number, begin in enumerate((-0.5, *(step + 0.5 for step in ends)), start=1):
        axes.annotate(
            f"epoch {number}", (begin, 1), xycoords=axes.get_xaxis_transform(), xytext=(4, -3),
            textcoords="offset points", va="top", fontsize=8, color=GREY,
        )  # fmt: skip


def _finish(axes: Axes, course: Course, *, title: str) -> None:
    last = course.points[-1].step
    axes.set_xlim(-0.5, max(last, 1) + 0.5)
    axes.set_xlabel("step")
    axes.set_title(title, loc="left", fontsize=11)
    axes.grid(visible=True, axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top"]].set_visible(False)
    _whole_numbers(axes, vertical=False)


def _whole_numbers(axes: Axes, *, vertical: bool) -> None:
    from matplotlib.ticker import MaxNLocator

    (axes.yaxis if vertical else axes.xaxis).set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))


def _short(number: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(number) >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"


def _as_it_stands(text: str) -> str:
    r"""Return a text as one line that the plot shows as it is: a dollar sign would begin a formula."""
    line = " ".join(plain(text).split())
    return (line if len(line) <= _LONGEST_NAME else f"{line[:_LONGEST_NAME]}...").replace("$", r"\$")
