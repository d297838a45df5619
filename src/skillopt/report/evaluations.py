"""Every evaluation of a run, in the order in which the method makes them: what each is of, and where its rows stand.

The terminal's walk and the live page name the same ones. No row is read here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from skillopt.report.reading import DirectoryReader
from skillopt.report.run_files import RunFiles
from skillopt.report.step_files import slow_update_place, step_place
from skillopt.types import SplitName


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One skill on some tasks.

    Attributes:
        place: Its directory below the run directory.
        split: The split that its tasks are from.
        title: What it is of, in words.
        step: The step that it belongs to, 0 for the baseline; None between epochs and after the last step.
        epoch: The epoch that it follows, for what stands between epochs; None for all others.
    """

    place: str
    split: SplitName
    title: str
    step: int | None = None
    epoch: int | None = None


_Told: TypeAlias = tuple[SplitName, str]

_AHEAD: Final[Mapping[str, _Told]] = {
    "rollout": ("train", "training batch"),
    "selection_eval_refresh": ("val", "current skill in a fresh pass"),
}
_AT_THE_GATE: Final[Mapping[str, _Told]] = {
    "selection_eval": ("val", "candidate at the gate"),
    "selection_eval_again": ("val", "accepted candidate, measured again"),
}
_BETWEEN: Final[Mapping[str, _Told]] = {
    "rollout_prev": ("train", "skill of the epoch before, on the compared tasks"),
    "rollout_curr": ("train", "skill of this epoch, on the compared tasks"),
    "selection_eval": ("val", "skill with the guidance, at the gate"),
    "selection_eval_again": ("val", "skill with the guidance, measured again"),
}
_LAST: Final[Mapping[str, _Told]] = {
    "selection_eval_final_baseline": ("val", "seed skill in fresh passes after the last step"),
    "selection_eval_final": ("val", "best skill in fresh passes after the last step"),
    "test_eval_baseline": ("test", "seed skill on the test split"),
    "test_eval": ("test", "best skill on the test split"),
}
_BASELINE: Final = Evaluation("selection_eval_baseline", "val", "seed skill, the baseline", step=0)
_STEP: Final = re.compile(r"steps/step_(\d{4,9})/", re.ASCII)
_EPOCH: Final = re.compile(r"(?:slow_update|meta_skill)/epoch_(\d{2,9})/", re.ASCII)
_DRAW: Final = re.compile(r"draw_\d{2,}", re.ASCII)


def evaluations(run: RunFiles) -> tuple[Evaluation, ...]:
    """Return the evaluations that a run has left so far.

    Raises:
        RunDirectoryError: If one of its directories cannot be read.
    """
    epochs = {record["step"]: record["epoch"] for record in run.records}
    between = {epoch: tuple(_between(run, epoch)) for epoch in run.epochs}
    found = [*evaluations_of_step(run, 0)]
    for step in run.steps:
        found += evaluations_of_step(run, step)
        epoch = epochs.get(step)
        if epoch is not None and epochs.get(step + 1) != epoch:
            found += between.pop(epoch, ())
    found += [one for epoch in between for one in between[epoch]]
    return (*found, *_last(run))


def evaluation(run: RunFiles, place: str) -> Evaluation | None:
    """Return the evaluation of a directory below the run's; None where there is none. Only its own part is looked at.

    Args:
        run: The run.
        place: Any text; it is looked up and becomes no path.
    """
    if step := _STEP.match(place):
        near = evaluations_of_step(run, int(step[1]))
    elif epoch := _EPOCH.match(place):
        near = tuple(_between(run, int(epoch[1]))) if int(epoch[1]) in run.epochs else ()
    else:
        near = (*evaluations_of_step(run, 0), *_last(run))
    return next((one for one in near if one.place == place), None)


def evaluations_of_step(run: RunFiles, step: int) -> tuple[Evaluation, ...]:
    """Return those of one step: its batch, the draws that lost, its candidate at the gate; of 0 the baseline."""
    if step == 0:
        return (_BASELINE,) if _holds(run, _BASELINE.place) else ()
    return tuple(_of_step(run, step)) if step in run.steps else ()


def _of_step(run: RunFiles, step: int) -> Iterator[Evaluation]:
    place = step_place(step)
    told: dict[str, _Told] = {**_AHEAD}
    for name in DirectoryReader(run.directory).names(place, _DRAW):
        number = int(name.removeprefix("draw_"))
        told[f"{name}/selection_eval"] = ("val", f"candidate of draw {number}, which lost")
    told |= _AT_THE_GATE
    for name, (split, title) in told.items():
        if _holds(run, f"{place}/{name}"):
            yield Evaluation(f"{place}/{name}", split, f"step {step}: {title}", step=step)


def _between(run: RunFiles, epoch: int) -> Iterator[Evaluation]:
    for place, what in ((slow_update_place(epoch), "slow update"), (f"meta_skill/epoch_{epoch:02d}", "meta skill")):
        for name, (split, title) in _BETWEEN.items():
            if _holds(run, f"{place}/{name}"):
                yield Evaluation(f"{place}/{name}", split, f"after epoch {epoch}, {what}: {title}", epoch=epoch)


def _last(run: RunFiles) -> Iterator[Evaluation]:
    for place, (split, title) in _LAST.items():
        if _holds(run, place):
            yield Evaluation(place, split, title)


def _holds(run: RunFiles, place: str) -> bool:
    return (run.directory / place / "results.json").is_file()
