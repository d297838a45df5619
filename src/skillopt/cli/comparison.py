"""What an evaluation found, as a person reads it and as a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any

from skillopt.api import Evaluation
from skillopt.cli.streams import is_live
from skillopt.cli.terminal import console, new_table, say, say_unbroken, show_table
from skillopt.evaluation.scores import solved
from skillopt.evaluation.statistics import PairedDifference, wilson_interval
from skillopt.models.retry import Retry
from skillopt.report.end_words import points_gained
from skillopt.run.history import split_scores
from skillopt.run.step_files import rollout_row
from skillopt.text_files import plain, safe_name, write_json_atomically
from skillopt.types import Place, Role, Rollout
from skillopt.wording import counted, simulated_notice

_LONGEST_LABEL = 36
_MOST_REASONS = 5
_LINES_OF_A_LOG = 10
"""How many lines of progress an evaluation writes where nobody watches."""


class Counting:
    """Shows how far an evaluation is, on standard error.

    Args:
        total: Rollouts there will be.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._live = is_live(stderr=True)
        self._out = console(stderr=True)

    def __call__(self, place: Place, key: str, rollout: Rollout, *, recorded: bool) -> None:
        """Count a rollout; on a terminal the line is written over."""
        self._done += 1
        last = self._done == self._total
        if self._live:
            self._out.print(f"{self._done}/{self._total} tasks", end="\n" if last else "\r")
        elif last or self._done * _LINES_OF_A_LOG // self._total > (self._done - 1) * _LINES_OF_A_LOG // self._total:
            self._out.print(f"{self._done}/{self._total} tasks")

    def on_retry(self, role: Role, retry: Retry) -> None:
        """Say that a call is tried again."""
        text = f"warning: {role}: {plain(retry.error.message)}; attempt {retry.attempt + 1} in {retry.wait:.0f} s"
        say(text, stderr=True, style="yellow")


def labels(names: Sequence[str]) -> tuple[str, ...]:
    """Return a short name for each skill file: as much of the end of its path as tells it from the others.

    With several files each gets its number in front, so that equal ones are told apart too. A long label loses its
    middle.
    """
    parts = [PurePath(name).parts or (name,) for name in names]
    length = 1
    while length < max(map(len, parts)) and len({part[-length:] for part in parts}) < len(set(parts)):
        length += 1
    ends = [_shortened(plain(str(PurePath(*part[-length:])))) for part in parts]
    return tuple(f"{number} {end}" for number, end in enumerate(ends, start=1)) if len(ends) > 1 else tuple(ends)


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_LABEL:
        return text
    head = (_LONGEST_LABEL - 3) // 2
    return f"{text[:head]}...{text[len(text) - (_LONGEST_LABEL - 3 - head) :]}"


def show_evaluation(
    names: Sequence[str], split: str, result: Evaluation, *, directory: Path, simulated_models: bool
) -> None:
    """Print scores, by category where there are several, and how the skills compare.

    Args:
        names: The skills' files as they were named.
        split: What they were measured on.
        result: What was found.
        directory: Where it was written.
        simulated_models: Whether the numbers come from simulated models.
    """
    if simulated_models:
        say(simulated_notice())
    short = labels(names)
    if split != "test":
        say(f"note: training looks at tasks of {split}; only the test split is held out from the skill it makes.")
    some_missing = any(not rollout.measured for rollouts in result.rollouts for rollout in rollouts)
    columns = ("skill", f"solved on {split}", "95 % interval", "partial credit")
    table = new_table(*columns, *(["unmeasured"] if some_missing else []))
    for label, rollouts in zip(short, result.rollouts, strict=True):
        table.add_row(label, *_scores(rollouts)[: len(table.columns) - 1])
    show_table(table)
    _show_categories(short, result)
    for label, name in zip(short, names, strict=True):
        if not label.endswith(plain(name)):
            say_unbroken(f"{label.split()[0] if len(names) > 1 else label} is {plain(name)}")
    for label, difference in zip(short[1:], result.differences, strict=True):
        say(f"{label} against {short[0]}: {shown_difference(difference)}")
    _show_failures(result)
    spent = result.spent
    price = "price unknown" if spent.dollars is None else f"${spent.dollars:.4f}"
    say(f"Paid now: {counted(spent.usage.calls, 'call')}, {spent.usage.tokens:,} tokens, {price}")
    say_unbroken(f"Results: {plain(str(directory))}")


def _scores(rollouts: Sequence[Rollout]) -> tuple[str, str, str, str]:
    scores = split_scores(rollouts)
    if not scores["measured"]:
        return "nothing measured", "-", "-", str(scores["unmeasured"])
    interval = wilson_interval(scores["solved"], scores["measured"])
    shown = f"{100 * interval.low:.1f} to {100 * interval.high:.1f} %"
    return scores["shown"], shown, f"{100 * scores['soft']:.1f} %", str(scores["unmeasured"])


def shown_difference(difference: PairedDifference | None) -> str:
    """Return how a second skill compares with a first one on the tasks both were measured on, in a sentence."""
    if difference is None:
        return "no task was measured with both"
    test = difference.sign_test
    return (
        f"{points_gained(difference, on='task')}; "
        f"{test.better} better, {test.worse} worse, sign test p = {difference.two_sided_p:.3g} (two-sided)"
    )


def _show_categories(short: Sequence[str], result: Evaluation) -> None:
    categories = sorted({rollout.task.category for rollout in result.rollouts[0]})
    if len(categories) < 2:
        return
    table = new_table("category", *short)
    for category in categories:
        cells = [solved(one for one in rollouts if one.task.category == category) for rollouts in result.rollouts]
        table.add_row(plain(category) or "(none)", *(f"{count}/{measured}" for count, measured in cells))
    show_table(table)


def _show_failures(result: Evaluation) -> None:
    reasons = Counter(
        f"{rollout.failure.kind} in {rollout.failure.stage}: {rollout.failure.message}"
        for rollouts in result.rollouts
        for rollout in rollouts
        if rollout.failure is not None
    )
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    for reason, count in ranked[:_MOST_REASONS]:
        say(f"{count} unmeasured: {plain(reason)}", stderr=True)
    if len(ranked) > _MOST_REASONS:
        say(f"and {len(ranked) - _MOST_REASONS} more reasons, in the results", stderr=True)


def write_evaluation(directory: Path, split: str, names: Sequence[str], result: Evaluation) -> None:
    """Write eval_summary.json, and one results file for each skill and split."""
    rows: list[dict[str, Any]] = []
    for name, rollouts in zip(names, result.rollouts, strict=True):
        digest = rollouts[0].skill_digest[:16] if rollouts else safe_name(name)
        file = f"results_{split}_{digest}.json"
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
