"""The learning rate: how many edits one step may make, and how that budget falls over a run.

It says how many, never which ones; ranking belongs to `step/select.py`.
"""

from __future__ import annotations

import math
from typing import Literal, TypeAlias, get_args

Scheduler: TypeAlias = Literal["constant", "linear", "cosine", "autonomous"]
"""Names of the schedules, as `optimizer.lr_scheduler` spells them."""

MOST_TIMES = 4
"""A budget that the optimizer names itself is at most so many times the learning rate: one reply is no reason for more
than a few steps' worth of edits."""


def bounded_budget(proposed: int, *, available: int, learning_rate: int) -> int:
    """Return a budget that the optimizer named as far as it holds: 0 up to the edits there are, `MOST_TIMES` a rate."""
    return max(0, min(proposed, available, MOST_TIMES * learning_rate))


def edit_budget(scheduler: Scheduler, step: int, *, total_steps: int, maximum: int, minimum: int) -> int:
    """Return the most edits that one step may make.

    With a = maximum, b = minimum, T = total_steps and t = min(step, T), rounding halves to the even neighbour:

        constant    a
        linear      max(b, round(a + (b - a) * t / T))
        cosine      max(b, round(b + (a - b) / 2 * (1 + cos(pi * t / T))))
        autonomous  a; there is no schedule, the optimizer names the budget of each step

    Both decays count the step as done, so the last step gets b, and the first one of a short run may get less than a.
    A run of one step gets a. The budget is 0 only where the caller asked for 0 at that end. It depends on the step's
    number alone, so skipped steps and runs that are played again see the same schedule.

    Args:
        scheduler: The schedule's name.
        step: From 1 over the whole run; a step beyond the last has the last one's budget.
        total_steps: Steps of the whole run.
        maximum: The learning rate, in edits a step, 0 or more.
        minimum: Where the decay ends, 0 or more; one without a decay does not look at it.

    Raises:
        ValueError: For an unknown schedule, a step below 1, a negative bound, or a decay that would have to rise.
    """
    if scheduler not in get_args(Scheduler):
        raise ValueError(f"schedule {scheduler!r} is unknown; it must be one of {', '.join(get_args(Scheduler))}")
    if step < 1:
        raise ValueError(f"step is {step}; steps are counted from 1")
    if maximum < 0 or minimum < 0:
        raise ValueError(f"the edit budget goes from {maximum} to {minimum}; neither may be negative")
    if scheduler in ("constant", "autonomous"):
        return maximum
    if minimum > maximum:
        raise ValueError(f"the minimum of the edit budget is {minimum}, above its maximum {maximum}")
    if total_steps <= 1:
        return maximum
    done = min(step, total_steps)
    if scheduler == "linear":
        budget = maximum + (minimum - maximum) * done / total_steps
    else:
        budget = minimum + 0.5 * (maximum - minimum) * (1 + math.cos(math.pi * done / total_steps))
    return max(minimum, round(budget))
