"""Two runs in a terminal: settings, scores and spending side by side, flips, and the skills' difference."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from rich.text import Text

from skillopt.cli.show_run import named
from skillopt.cli.terminal import new_table, say, show_table
from skillopt.cli.text_difference import show_text_difference
from skillopt.report.card import is_simulated
from skillopt.report.flips import Flips
from skillopt.report.run_difference import SplitDifference, setting_differences, split_difference, standing
from skillopt.report.run_files import RunFiles
from skillopt.text_files import plain
from skillopt.wording import counted, simulated_notice

_LONGEST_VALUE, _AHEAD = 60, 20
"""Characters of a value that are shown, and how many of them may be the same in all."""


def show_run_difference(first: RunFiles, second: RunFiles) -> None:
    """Print how two runs compare.

    Raises:
        RunDirectoryError: If a file of either cannot be read.
    """
    names = ("A", "B")
    for name, run in zip(names, (first, second), strict=True):
        say(f"{name} is {plain(str(run.directory))}")
    simulated = [name for name, run in zip(names, (first, second), strict=True) if is_simulated(run)]
    if simulated:
        say(simulated_notice(() if simulated == list(names) else simulated))
    _show_settings(first, second)
    _show_scores(first, second)
    splits = [split_difference(first, second, part) for part in ("val", "test")]
    for split in splits:
        _show_split(split)
    if not any(splits):
        say("\nThe runs share no task that both measured with their best skills.")
    _show_skills(first, second)


def _show_settings(first: RunFiles, second: RunFiles) -> None:
    differences = setting_differences(first, second)
    if not differences:
        say("The settings are the same.")
        return
    table = new_table("setting", "A", "B")
    for one in differences:
        table.add_row(Text(plain(one.key)), *map(Text, _told_apart(one.values)))
    show_table(table)


def _told_apart(values: Sequence[Any]) -> tuple[str, ...]:
    """Return values as text; long ones from a little ahead of where they begin to differ."""
    texts = [plain(one if isinstance(one, str) else json.dumps(one, ensure_ascii=False, default=str)) for one in values]
    start = 0
    if max(map(len, texts)) > _LONGEST_VALUE:
        same = takewhile(lambda characters: len(set(characters)) == 1, zip(*texts, strict=False))
        start = max(0, len(list(same)) - _AHEAD)
    end = start + _LONGEST_VALUE
    return tuple(("..." if start else "") + text[start:end] + ("..." if text[end:] else "") for text in texts)


def _show_scores(first: RunFiles, second: RunFiles) -> None:
    table = new_table("", "A", "B")
    rows = [standing(run) for run in (first, second)]
    for name in {**rows[0], **rows[1]}:
        table.add_row(name, *(plain(row.get(name, "-")) for row in rows))
    show_table(table)


def _show_split(difference: SplitDifference | None) -> None:
    if difference is None:
        return
    name = "selection" if difference.part == "val" else "test"
    matched = "" if difference.same_tasks else ", matched by id: the splits are not the same"
    say(f"\nBest skills on {counted(difference.shared, f'{name} task')} that both runs measured{matched}:")
    show_flips(difference.flips, two_sided_p=difference.two_sided_p)
    if difference.seen:
        say(f"  note: {len(difference.seen)} of them are training tasks of one of the runs: {named(difference.seen)}")


def show_flips(flips: Flips, *, two_sided_p: float) -> None:
    """Print the tasks on which B does better than A, and worse, with the exact sign test on them."""
    for words, changed in (("B better, A worse", flips.fixed), ("A better, B worse", flips.broken)):
        say(f"  {words}: {len(changed)}" + (f": {named([flip.task_id for flip in changed])}" if changed else ""))
    say(f"  the same: {flips.same}; sign test p = {two_sided_p:.3g} (two-sided)")


def _show_skills(first: RunFiles, second: RunFiles) -> None:
    one, two = first.best_skill, second.best_skill
    if one is None or two is None:
        return
    say("")
    if one == two:
        say("The best skills are the same.")
    else:
        show_text_difference(one, two, names=("best skill of A", "best skill of B"))
