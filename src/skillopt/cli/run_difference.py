"""Two runs in a terminal: settings, scores and spending side by side, flips, and the skills' difference."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from skillopt.cli.show_run import named, readable
from skillopt.cli.terminal import new_table, say, show_table
from skillopt.cli.text_difference import show_text_difference
from skillopt.report.flips import Flips
from skillopt.report.run_difference import SplitDifference, setting_differences, split_difference
from skillopt.report.run_files import RunFiles
from skillopt.text_files import plain

_LONGEST_VALUE = 60


def show_run_difference(first: RunFiles, second: RunFiles) -> None:
    """Print how two runs compare.

    Raises:
        RunDirectoryError: If a file of either cannot be read.
    """
    names = ("A", "B")
    for name, run in zip(names, (first, second), strict=True):
        say(f"{name} is {plain(str(run.directory))}")
    if any((run.summary or {}).get("simulated") for run in (first, second)):
        say("SIMULATED MODELS: these numbers say nothing about real ones.")
    _show_settings(first, second)
    with readable(first), readable(second):
        _show_scores(first, second)
        for part in ("val", "test"):
            _show_split(split_difference(first, second, part))
    _show_skills(first, second)


def _show_settings(first: RunFiles, second: RunFiles) -> None:
    differences = setting_differences(first, second)
    if not differences:
        say("The settings are the same.")
        return
    table = new_table("setting", "A", "B")
    for one in differences:
        table.add_row(Text(plain(one.key)), Text(_value(one.first)), Text(_value(one.second)))
    show_table(table)


def _value(value: Any) -> str:
    text = plain(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str))
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."


def _show_scores(first: RunFiles, second: RunFiles) -> None:
    table = new_table("", "A", "B")
    rows = [_standing(run) for run in (first, second)]
    for name in {**rows[0], **rows[1]}:
        table.add_row(name, *(plain(row.get(name, "-")) for row in rows))
    show_table(table)


def _standing(run: RunFiles) -> dict[str, str]:
    """Return what a run came to, by what it is."""
    summary, records = run.summary, run.records
    found = {"end": "not ended" if summary is None else str(summary["state"])}
    found["steps"] = str(max(0, len(records) - 1))
    if summary is not None and "selection" in summary:
        for split, word in (("selection", "selection"), ("test", "test")):
            for skill in ("seed", "best"):
                scores: Mapping[str, Any] | None = summary[split][skill]
                if scores is not None:
                    found[f"{word}, {skill} skill"] = str(scores["shown"])
        found["best skill made by step"] = str(summary["best_step"])
    elif records:
        last = records[-1]
        found["selection, best skill"] = f"{last['best_solved']}/{last['val_n']}"
    usage: Mapping[str, Mapping[str, Any]] = records[-1]["total_usage"] if records else {}
    if summary is not None:
        usage = summary.get("total_usage", usage)
    for role, spent in usage.items():
        tokens = sum(spent[kind] for kind in ("fresh_tokens", "cached_tokens", "output_tokens"))
        price = "price unknown" if spent["dollars"] is None else f"${spent['dollars']:.2f}"
        found[f"used, {role}"] = f"{spent['calls']} calls, {tokens:,} tokens, {price}"
    return found


def _show_split(difference: SplitDifference | None) -> None:
    if difference is None:
        return
    name = "selection" if difference.part == "val" else "test"
    matched = "" if difference.same_tasks else ", matched by id: the splits are not the same"
    say(f"\nBest skills on {difference.shared} {name} tasks that both runs measured{matched}:")
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
