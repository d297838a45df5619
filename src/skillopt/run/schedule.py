"""How many edits each step may make over a whole run, and what more epochs change in it.

The formulas are those of `learning_rate.py`. Of all that a step does, its edit budget alone depends on how many steps
there are: batches, random choices and what happens between epochs go by the step and the epoch.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

from skillopt.config.training_settings import OptimizerSettings
from skillopt.learning_rate import edit_budget

_MOST_NAMED = 8
"""Most changes of the edit budget that a message lists."""


def scheduled_budget(optimizer: OptimizerSettings, *, step: int, total_steps: int) -> int:
    """Return the edit budget of a step: the learning rate as its schedule has it; whole where nothing is clipped.

    Args:
        optimizer: Learning rate and schedule.
        step: From 1 over the whole run.
        total_steps: Steps of the whole run.
    """
    return edit_budget(
        "constant" if optimizer.budget_control == "none" else optimizer.lr_scheduler,
        step=step,
        total_steps=total_steps,
        maximum=optimizer.learning_rate,
        minimum=optimizer.lowest_learning_rate,
    )


@dataclass(frozen=True, slots=True)
class MoreEpochs:
    """A run that is to go on for more epochs: how many there were, and how many there are to be."""

    before: int
    now: int

    def changed_budgets(self, optimizer: OptimizerSettings, *, steps_per_epoch: int) -> dict[int, tuple[int, int]]:
        """Return the steps of the shorter run whose edit budget is another one in the longer: the old and the new."""
        old, new = (epochs * steps_per_epoch for epochs in (self.before, self.now))
        budgets = {
            step: (
                scheduled_budget(optimizer, step=step, total_steps=old),
                scheduled_budget(optimizer, step=step, total_steps=new),
            )
            for step in range(1, old + 1)
        }
        return {step: (before, after) for step, (before, after) in budgets.items() if before != after}

    def effect(self, optimizer: OptimizerSettings, *, steps_per_epoch: int) -> str:
        """Return in words what becomes of the steps that there were."""
        old, new = (epochs * steps_per_epoch for epochs in (self.before, self.now))
        raised = f"train.num_epochs is raised from {self.before} to {self.now}: {new} steps in place of {old}"
        changed = self.changed_budgets(optimizer, steps_per_epoch=steps_per_epoch)
        if not changed:
            return f"{raised}; the edit budget of every step stays as it was, so what was played stands"
        return (
            f"{raised}; optimizer.lr_scheduler {optimizer.lr_scheduler} falls over all of them, so that the edit "
            f"budget changes ({_listed(changed)}): from step {min(changed)} on the steps are played anew and are "
            "asked again as far as what is asked changes, and what they had before stays in the evidence"
        )


def _listed(changed: dict[int, tuple[int, int]]) -> str:
    """Say which steps change from what to what, those in a row that change in the same way together."""
    # Steps in a row keep the distance between their number and their place in the list.
    places = {step: place for place, step in enumerate(changed)}
    groups = [
        (list(steps), change)
        for (change, _), steps in groupby(changed, key=lambda step: (changed[step], step - places[step]))
    ]
    told = [
        f"{f'step {steps[0]}' if len(steps) == 1 else f'steps {steps[0]} to {steps[-1]}'}: {before} -> {after}"
        for steps, (before, after) in groups
    ]
    return "; ".join(told[:_MOST_NAMED]) + ("; ..." if len(told) > _MOST_NAMED else "")
