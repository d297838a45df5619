"""The end of a run in words: how it ended, seed and best skill side by side, and what the scores were counted from.

The terminal and the page say the same of it. Texts of models in it are hostile, to be shown as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from skillopt.evaluation.statistics import PairedDifference
from skillopt.report.course import Record
from skillopt.wording import counted


def ended(state: str, message: str) -> str:
    """Return how a run ended and what to do, in one text that begins with the state."""
    return message if message.startswith(state) else f"{state}: {message}"


def shown_scores(scores: Record) -> str:
    """Return what a skill solved of a split, as it stands in summary.json: counts (F93), and what was not measured."""
    missing = f", {scores['unmeasured']} unmeasured" if scores["unmeasured"] else ""
    return f"{scores['shown']}{missing}"


def difference(summary: Record, split: Literal["selection", "test"]) -> str:
    """Return by how many points the best skill solved more of a split than the seed.

    Every selection task is measured with both. Test tasks may be missing: means over different tasks are not
    subtracted, since an outage that hit the hard ones would look like a gain (F1).
    """
    scores: Record = summary[split]
    if split == "selection":
        return points(scores["best"]["hard"] - scores["seed"]["hard"])
    delta, tasks = summary["test_delta_hard"], summary["test_delta_tasks"]
    if delta is None:
        return "not measured"
    missing = scores["seed"]["unmeasured"] or scores["best"]["unmeasured"]
    return points(delta) + (f" on {counted(tasks, 'task')}" if missing else "")


def points(share: float) -> str:
    """Return a difference of two shares in percentage points, with its sign."""
    return f"{100 * share:+.1f} points"


def points_gained(found: PairedDifference, *, on: str) -> str:
    """Return a difference between two skills on the same tasks with its interval; `on` is what a task is called."""
    low, high = 100 * found.interval.low, 100 * found.interval.high
    return f"{points(float(found.difference))} on {counted(found.tasks, on)} (95 % interval {low:+.1f} to {high:+.1f})"


def made_by(origin: str, *, step: int | None = None) -> str:
    """Return what made a skill, in words: a slow update stands in the record of its epoch's last step, beside that.

    Args:
        origin: As records say it (`best_origin`); "" where they are of a time that did not.
        step: The step that is named where they do not; 0 is the seed.
    """
    if found := re.fullmatch(r"slow_update_epoch_(\d+)", origin):
        return f"slow update after epoch {int(found[1])}"
    if found := re.fullmatch(r"step_(\d+)", origin):
        return f"step {int(found[1])}"
    if origin == "initial_skill" or step == 0:
        return "the seed"
    return "not recorded" if step is None else f"step {step}"


def after_the_last_step(summary: Record) -> Iterator[str]:
    """Yield which fresh passes chose and measured the best skill after the last step; nothing where none did."""
    final: Record = summary.get("final") or {}
    if final.get("finalists"):
        scores = ", ".join(map(_finalist, final["finalists"]))
        best = made_by(summary.get("best_origin") or "", step=summary["best_step"])
        yield f"Best skill: {best}, chosen by fresh passes among {scores}"
    best_passes, seed_passes = final.get("passes"), final.get("seed_passes")
    if best_passes and seed_passes:
        fresh, gate = 100 * best_passes["mean"], 100 * summary["best_gate_score"]
        seed, baseline = 100 * seed_passes["mean"], 100 * summary["baseline_gate_score"]
        number = best_passes["n"]
        passes = "a fresh pass" if number == 1 else f"{number} fresh passes"
        yield f"Its score on the selection split is that of {passes}: {fresh:.1f} %; at the gate it had {gate:.1f} %."
        yield f"The seed's is that of as many beside them: {seed:.1f} %; its baseline was {baseline:.1f} %."


def _finalist(one: Record) -> str:
    fresh, gate = 100 * one["fresh_score"], 100 * one["gate_score"]
    return f"{made_by(one.get('origin') or '', step=one['step'])} {fresh:.1f} % (at the gate {gate:.1f} %)"
