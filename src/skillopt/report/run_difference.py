"""Two runs side by side: settings that differ, and the tasks that one's best skill solves and the other's does not.

Pure over what `report/run_files.py` read; it asks no model and writes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast

from skillopt.evaluation.statistics import two_sided_p_value
from skillopt.report.flips import Flips, Metric, flips
from skillopt.report.run_files import RunFiles
from skillopt.report.step_files import Rows, slow_update_place, step_place

Part: TypeAlias = Literal["val", "test"]
"""The splits on which best skills are compared; `val` is the selection split, which chose each of them."""

_MISSING: Final = "(not set)"


@dataclass(frozen=True, slots=True)
class SettingDifference:
    """A setting that two runs have different values of, by its full key."""

    key: str
    first: Any
    second: Any


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


def setting_differences(first: RunFiles, second: RunFiles) -> tuple[SettingDifference, ...]:
    """Return the settings that differ, sorted by key."""
    one, two = dict(_leaves(first.settings)), dict(_leaves(second.settings))
    return tuple(
        SettingDifference(key, one.get(key, _MISSING), two.get(key, _MISSING))
        for key in sorted(one.keys() | two.keys())
        if one.get(key, _MISSING) != two.get(key, _MISSING)
    )


def best_rows(run: RunFiles, part: Part) -> Rows:
    """Return what the best skill of a run did on a split: on the test split, or at the gate that accepted it.

    With fresh passes after the last step, those count on the selection split; they chose nothing.
    """
    if part == "test":
        return run.rollouts("test_eval")
    final = run.rollouts("selection_eval_final")
    if final or not run.records:
        return final
    origin = str(run.records[-1].get("best_origin"))
    step, epoch = re.fullmatch(r"step_(\d+)", origin), re.fullmatch(r"slow_update_epoch_(\d+)", origin)
    if step is not None:
        place = step_place(int(step[1]))
    elif epoch is not None:
        place = slow_update_place(int(epoch[1]))
    else:
        return run.rollouts("selection_eval_baseline")
    return run.rollouts(f"{place}/selection_eval_again") or run.rollouts(f"{place}/selection_eval")


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
