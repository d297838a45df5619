"""Two skill files in a terminal: how their texts differ, and what they did on tasks that both were tried on."""

from __future__ import annotations

from pathlib import Path

from skillopt.cli.run_difference import show_flips
from skillopt.cli.terminal import say
from skillopt.cli.text_difference import show_text_difference
from skillopt.config.load import load_config
from skillopt.evaluation.statistics import two_sided_p_value
from skillopt.report.flips import Metric, flips
from skillopt.report.stored_rows import RolloutRow
from skillopt.run.recorded_rollouts import recorded_rollouts
from skillopt.run.setup import prepare
from skillopt.run.step_files import rollout_row
from skillopt.skill.document import Skill
from skillopt.skill.size import estimate_tokens
from skillopt.text_files import plain
from skillopt.types import Rollout


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
    for name, path, skill in zip("AB", (first, second), skills, strict=True):
        say(f"{name} is {plain(str(path))}, about {estimate_tokens(skill.text)} tokens")
    if skills[0].text == skills[1].text:
        say("They are the same.")
    else:
        show_text_difference(skills[0].text, skills[1].text, names=("A", "B"))
    if run is not None:
        _show_tasks(skills, run)


def _show_tasks(skills: tuple[Skill, Skill], run: Path) -> None:
    setup = prepare(load_config(run / "config.yaml"))
    evaluation = setup.config.evaluation
    metric = Metric(evaluation.compared, evaluation.gate_mixed_weight)
    for name, tasks in (("train", setup.splits.train), ("selection", setup.splits.val), ("test", setup.splits.test)):
        one, two = (recorded_rollouts(setup, skill, tasks, directory=run) for skill in skills)
        shared = [task.id for task in tasks if task.id in one and task.id in two]
        say(f"\n{name}: A measured on {len(one)} tasks, B on {len(two)}, both on {len(shared)}")
        if shared:
            changed = flips(*([_row(found[task]) for task in shared] for found in (one, two)), metric=metric)
            show_flips(changed, two_sided_p=two_sided_p_value(len(changed.fixed), len(changed.broken)))


def _row(rollout: Rollout) -> RolloutRow:
    return RolloutRow.model_validate(rollout_row(rollout))
