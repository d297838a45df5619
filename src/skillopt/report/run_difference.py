"""Runs side by side: settings that differ, what each came to, and the tasks that one's best skill solves alone.

Pure over what `report/run_files.py` read; it asks no model and writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from skillopt.evaluation.statistics import two_sided_p_value
from skillopt.report.course import best_count
from skillopt.report.end_words import made_by
from skillopt.report.flips import Flips, Metric, flips
from skillopt.report.gain import Part, best_rows
from skillopt.report.live_words import price_words
from skillopt.report.run_files import RunFiles
from skillopt.report.worth import worth
from skillopt.wording import counted

_MISSING: Final = "(not set)"


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting of which some runs have different values: its full key, and each run's value in their order."""

    key: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class SplitDifference:
    """The best skills of two runs on the tasks of a split that both measured.

    Attributes:
        part: The split.
        shared: Number of tasks that both measured.
        flips: What the second one's best skill does better and worse than the first one's.
        two_sided_p: The exact sign test's: the chance of flips at least as lopsided if either were equally likely.
        same_tasks: Whether the whole split is the same in both, contents and all; otherwise tasks are matched by id.
        seen: Tasks among them that one of the runs could learn from, since they are in its training split.
    """

    part: Part
    shared: int
    flips: Flips
    two_sided_p: float
    same_tasks: bool
    seen: tuple[str, ...]


def setting_differences(*runs: RunFiles) -> tuple[SettingDifference, ...]:
    """Return the settings that differ between runs, sorted by key."""
    settings = [dict(_leaves(run.settings)) for run in runs]
    keys = sorted({key for one in settings for key in one})
    rows = [SettingDifference(key, tuple(one.get(key, _MISSING) for one in settings)) for key in keys]
    return tuple(row for row in rows if any(value != row.values[0] for value in row.values))


def standing(run: RunFiles) -> dict[str, str]:
    """Return what a run came to, by what it is: its end, its steps, its scores as counts, what it used."""
    summary, records = run.summary, run.records
    found = {"end": "not ended" if summary is None else str(summary["state"])}
    gain = worth(run)
    if gain is not None:
        found["gain, held out"] = gain.brief
    found["steps"] = str(max(0, len(records) - 1))
    if summary is not None and "selection" in summary:
        for split in ("selection", "test"):
            for skill in ("seed", "best"):
                scores: Mapping[str, Any] | None = summary[split][skill]
                if scores is not None:
                    found[f"{split}, {skill} skill"] = str(scores["shown"])
        found["best skill made by"] = made_by(summary.get("best_origin") or "", step=summary["best_step"])
    elif records:
        last = records[-1]
        found["selection, best skill"] = f"{last['best_solved']}/{best_count(last)}"
    usage: Mapping[str, Mapping[str, Any]] = records[-1]["total_usage"] if records else {}
    if summary is not None:
        usage = summary.get("total_usage", usage)
    for role, spent in usage.items():
        tokens = sum(spent[kind] for kind in ("fresh_tokens", "cached_tokens", "output_tokens"))
        price = price_words(spent["dollars"])
        found[f"used, {role}"] = f"{counted(spent['calls'], 'call')}, {tokens:,} tokens, {price}"
    return found


def split_difference(first: RunFiles, second: RunFiles, part: Part) -> SplitDifference | None:
    """Compare the best skills of two runs task by task, by the metric of the first one's gate.

    Returns:
        None where they share no task that both measured.
    """
    one, two = best_rows(first, part), best_rows(second, part)
    metric = Metric(first.metric.compared, first.metric.weight)
    changed = flips(one, two, metric)
    shared = len(changed.fixed) + len(changed.broken) + changed.same
    if not shared:
        return None
    splits = [_splits(run) for run in (first, second)]
    digests = [split.get(part, {}).get("digest") for split in splits]
    trained = {task for split in splits for task in split.get("train", {}).get("ids", ())}
    return SplitDifference(
        part,
        shared,
        changed,
        two_sided_p_value(len(changed.fixed), len(changed.broken)),
        same_tasks=digests[0] is not None and digests[0] == digests[1],
        seen=tuple(sorted(trained & {row.id for row in one} & {row.id for row in two})),
    )


def _splits(run: RunFiles) -> Mapping[str, Mapping[str, Any]]:
    return (run.manifest or {}).get("splits") or {}


def _leaves(value: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield from _leaves(cast("Mapping[str, Any]", inner), f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", inner
