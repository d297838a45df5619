"""What a run's gain is worth, in words: the first thing that a person wants to know of a run that has ended.

The held-out tasks say it where they were measured; the selection split, which chose the best skill, flatters what it
chose. The rule for what chance explains is the diagnosis's. Nothing is decided here: how a run ended stands as it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from skillopt.evaluation.statistics import PairedDifference
from skillopt.report.diagnosis import RARE
from skillopt.report.end_words import points, points_gained
from skillopt.report.run_files import RunFiles

WorthKind: TypeAlias = Literal["shown", "unsure", "no gain", "not held out", "the seed"]

_SMALLEST: Final = 0.0001
"""A chance below that is told as such."""


@dataclass(frozen=True, slots=True)
class Worth:
    """What a gain is worth.

    Attributes:
        kind: A word for it: whether held-out tasks show the gain, leave it open or show none, whether there were none,
            or whether there is no other skill than the seed.
        headline: The same in a sentence.
        numbers: What it rests on, in a sentence; "" where nothing was compared.
        brief: The gain in a few words, for a cell of a table.
    """

    kind: WorthKind
    headline: str
    numbers: str = ""
    brief: str = "not measured"


def worth(run: RunFiles) -> Worth | None:
    """Return what the gain of a run is worth; None while no end with scores is recorded."""
    summary = run.summary or {}
    if "selection" not in summary:
        return None
    if not summary["best_step"]:
        return Worth("the seed", "No better skill was found: the best skill is the seed.", brief="none, it is the seed")
    if run.held_out is None:
        return Worth(
            "not held out",
            "Not measured on held-out tasks: the selection split chose the best skill, so its gain there flatters it.",
        )
    return judged(run.held_out)


def judged(found: PairedDifference) -> Worth:
    """Return what a difference on held-out tasks is worth, between the seed and a best skill that is another one."""
    test, gain = found.sign_test, points(float(found.difference))
    numbers = f"{points_gained(found, on='held-out task')}: better on {test.better}, worse on {test.worse}"
    if found.difference <= 0:
        headline = "Not better than the seed on held-out tasks."
        return Worth("no gain", headline, f"{numbers}.", f"{gain}, not better")
    numbers = f"{numbers}; chance alone does that with p {_shown(test.p_value)}."
    if test.p_value <= RARE:
        headline = "Better than the seed on held-out tasks, by more than chance explains."
        return Worth("shown", headline, numbers, f"{gain}, more than chance")
    headline = "Better than the seed on held-out tasks, though chance alone may do that."
    return Worth("unsure", headline, numbers, f"{gain}, chance may do that")


def _shown(p_value: float) -> str:
    return f"= {p_value:.2g}" if p_value >= _SMALLEST else f"< {_SMALLEST}"
