"""Two skill files in a terminal: how their texts differ, and what they did on tasks that both were tried on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from skillopt.cli.run_difference import show_flips
from skillopt.cli.terminal import say, say_unbroken
from skillopt.cli.text_difference import show_text_difference
from skillopt.config.load import load_config
from skillopt.evaluation.statistics import two_sided_p_value
from skillopt.report.flips import Flips, Metric, flips
from skillopt.report.run_files import RunFiles
from skillopt.report.stored_rows import RolloutRow
from skillopt.run.recorded_rollouts import recorded_rollouts
from skillopt.run.setup import prepare
from skillopt.run.step_files import rollout_row
from skillopt.skill.document import Skill
from skillopt.skill.size import estimate_tokens
from skillopt.text_files import plain
from skillopt.types import Rollout, SplitName, Task
from skillopt.wording import counted


def show_skill_difference(first: Path, second: Path, *, run: Path | None) -> None:
    """Print how two skills compare.

    Args:
        first: File of the first skill.
        second: File of the second one.
        run: The run directory whose evidence compares them; None compares the texts alone.

    Raises:
        SkillError: If a file is no skill.
        RunDirectoryError: If the run directory has no evidence that can be used.
    """
    skills = (Skill.load(first), Skill.load(second))
    measured = () if run is None else _measured(skills, RunFiles(run).directory)
    for name, path, skill in zip("AB", (first, second), skills, strict=True):
        say(f"{name} is {plain(str(path))}, about {counted(estimate_tokens(skill.text), 'token')}")
    if skills[0].text == skills[1].text:
        say("They are the same.")
        return
    show_text_difference(skills[0].text, skills[1].text, names=("A", "B"))
    if run is None:
        say("To compare what they did on tasks, name a run directory that they were measured in:")
        _say_command("diff", first, second, "--run", "RUN")
        return
    for split in measured:
        _show_split(split)
    missing = [split.part for split in measured if split.part != "train" and split.shared < split.tasks]
    if missing:
        say("What is missing can be measured, which is paid:")
        split = missing[0] if len(missing) == 1 else "all"
        skill_files = ("--skill", first, "--skill", second)
        _say_command("eval", run / "config.yaml", *skill_files, "--split", split, "--out", run)


@dataclass(frozen=True, slots=True)
class _Split:
    """What both skills did on a split: its name for `--split`, its tasks, how many each skill was measured on."""

    part: SplitName
    tasks: int
    measured: tuple[int, int]
    shared: int
    changed: Flips


def _measured(skills: tuple[Skill, Skill], run: Path) -> tuple[_Split, ...]:
    setup = prepare(load_config(run / "config.yaml"))
    evaluation = setup.config.evaluation
    metric = Metric(evaluation.compared, evaluation.gate_mixed_weight)
    splits: Mapping[SplitName, Sequence[Task]] = {
        "train": setup.splits.train,
        "val": setup.splits.val,
        "test": setup.splits.test,
    }
    found: list[_Split] = []
    for part, tasks in splits.items():
        one, two = (recorded_rollouts(setup, skill, tasks, directory=run) for skill in skills)
        shared = [task.id for task in tasks if task.id in one and task.id in two]
        changed = flips(*([_row(rollouts[task]) for task in shared] for rollouts in (one, two)), metric=metric)
        found.append(_Split(part, len(tasks), (len(one), len(two)), len(shared), changed))
    return tuple(found)


def _show_split(split: _Split) -> None:
    name = "selection" if split.part == "val" else split.part
    one, two = split.measured
    tasks = counted(split.tasks, "task")
    say(f"{name}: of {tasks} A was measured on {one}, B on {two}, both on {split.shared}")
    if split.shared:
        better, worse = len(split.changed.fixed), len(split.changed.broken)
        show_flips(split.changed, two_sided_p=two_sided_p_value(better, worse))


def _say_command(*words: str | Path) -> None:
    say_unbroken(f"  {plain(shlex.join(('skillopt', *map(str, words))))}")


def _row(rollout: Rollout) -> RolloutRow:
    return RolloutRow.model_validate(rollout_row(rollout))
