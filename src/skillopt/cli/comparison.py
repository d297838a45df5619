"""What an evaluation found, as a person reads it and as a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table

from skillopt.api import Evaluation
from skillopt.cli.terminal import console, plain
from skillopt.evaluation.scores import solved
from skillopt.evaluation.statistics import PairedDifference, wilson_interval
from skillopt.models.retry import Retry
from skillopt.run.history import split_scores
from skillopt.run.models import simulated
from skillopt.run.setup import Setup
from skillopt.run.step_files import rollout_row
from skillopt.text_files import safe_name, write_json_atomically
from skillopt.types import Place, Role, Rollout


class Counting:
    """Shows how far an evaluation is.

    Args:
        total: Rollouts there will be.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._out = console(stderr=True)

    def __call__(self, place: Place, key: str, rollout: Rollout, *, recorded: bool) -> None:
        """Count a rollout; on a terminal the line is written over."""
        self._done += 1
        if self._out.is_terminal:
            end = "\n" if self._done == self._total else "\r"
            self._out.print(f"{self._done}/{self._total} tasks", end=end, highlight=False)

    def on_retry(self, role: Role, retry: Retry) -> None:
        """Say that a call is tried again."""
        text = f"warning: {role}: {plain(retry.error.message)}; attempt {retry.attempt + 1} in {retry.wait:.0f} s"
        self._out.print(text, markup=False, highlight=False)

    def simulated(self, setup: Setup) -> bool:
        """Whether the numbers come from simulated models."""
        return simulated(setup.config)


def show_evaluation(
    names: Sequence[str], split: str, result: Evaluation, *, directory: Path, simulated_models: bool
) -> None:
    """Print scores, by category where there are several, and how the skills compare."""
    out = console()
    if simulated_models:
        out.print("SIMULATED MODELS: these numbers say nothing about real ones.")
    table = Table(box=box.SIMPLE, pad_edge=False)
    for column in ("skill", f"solved on {split}", "95 % interval", "partial credit", "unmeasured"):
        table.add_column(column, overflow="fold")
    for name, rollouts in zip(names, result.rollouts, strict=True):
        table.add_row(plain(name), *_scores(rollouts))
    out.print(table)
    _show_categories(names, result)
    for name, difference in zip(names[1:], result.differences, strict=True):
        out.print(_comparison(names[0], name, difference), markup=False, highlight=False, soft_wrap=True)
    _show_failures(result)
    spent = result.spent
    price = "price unknown" if spent.dollars is None else f"${spent.dollars:.4f}"
    out.print(f"Paid now: {spent.usage.calls} calls, {spent.usage.tokens:,} tokens, {price}", highlight=False)
    out.print(f"Results: {directory}", markup=False, highlight=False, soft_wrap=True)


def _scores(rollouts: Sequence[Rollout]) -> tuple[str, str, str, str]:
    scores = split_scores(rollouts)
    if not scores["measured"]:
        return "nothing measured", "-", "-", str(scores["unmeasured"])
    interval = wilson_interval(scores["solved"], scores["measured"])
    shown = f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"
    return scores["shown"], shown, f"{100 * scores['soft']:.1f} %", str(scores["unmeasured"])


def _comparison(first: str, second: str, difference: PairedDifference | None) -> str:
    if difference is None:
        return f"{plain(second)} against {plain(first)}: no task was measured with both"
    test, interval = difference.sign_test, difference.interval
    return (
        f"{plain(second)} against {plain(first)}: {100 * float(difference.difference):+.1f} points on "
        f"{difference.tasks} tasks (95 % interval {100 * interval.low:+.1f} to {100 * interval.high:+.1f}); "
        f"{test.better} better, {test.worse} worse, sign test p = {difference.two_sided_p:.3g} (two-sided)"
    )


def _show_categories(names: Sequence[str], result: Evaluation) -> None:
    categories = sorted({rollout.task.category for rollout in result.rollouts[0]})
    if len(categories) < 2:
        return
    table = Table(box=box.SIMPLE, pad_edge=False)
    for column in ("category", *(plain(name) for name in names)):
        table.add_column(column, overflow="fold")
    for category in categories:
        cells = [solved(one for one in rollouts if one.task.category == category) for rollouts in result.rollouts]
        table.add_row(plain(category) or "(none)", *(f"{count}/{measured}" for count, measured in cells))
    console().print(table)


def _show_failures(result: Evaluation) -> None:
    reasons = Counter(
        f"{rollout.failure.kind} in {rollout.failure.stage}: {rollout.failure.message}"
        for rollouts in result.rollouts
        for rollout in rollouts
        if rollout.failure is not None
    )
    for reason, count in sorted(reasons.items(), key=lambda item: (-item[1], item[0]))[:5]:
        text = f"{count} unmeasured: {plain(reason)}"
        console(stderr=True).print(text, markup=False, highlight=False, soft_wrap=True)


def write_evaluation(directory: Path, split: str, names: Sequence[str], result: Evaluation) -> None:
    """Write eval_summary.json, and one results file for each skill and split."""
    rows: list[dict[str, Any]] = []
    for name, rollouts in zip(names, result.rollouts, strict=True):
        file = (
            f"results_{split}_{rollouts[0].skill_digest[:16]}.json" if rollouts else f"results_{safe_name(name)}.json"
        )
        write_json_atomically(directory / file, [rollout_row(rollout) for rollout in rollouts])
        rows.append(
            {"skill": name, "split": split, "n_items": len(rollouts), "results": file, **split_scores(rollouts)}
        )
    for row, difference in zip(rows[1:], result.differences, strict=True):
        row["against_first"] = None if difference is None else _difference_json(difference)
    write_json_atomically(directory / "eval_summary.json", rows)


def _difference_json(difference: PairedDifference) -> dict[str, Any]:
    return {
        "tasks": difference.tasks,
        "difference": float(difference.difference),
        "interval_95": [difference.interval.low, difference.interval.high],
        "better": difference.sign_test.better,
        "worse": difference.sign_test.worse,
        "two_sided_p": difference.two_sided_p,
    }
