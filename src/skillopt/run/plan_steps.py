"""What one step of a training can take at most: minibatches, merges, a ranking, and how far the skill grows by it."""

from __future__ import annotations

import math

from skillopt.config.schema import Config
from skillopt.learning_rate import MOST_TIMES

_TOKENS_PER_EDIT = 60
"""By how much one applied edit makes the skill grow."""
_TOKENS_PER_NOTE = 20
"""By how much one reminder makes the skill grow; each trajectory can bring one."""


def most_rollouts(config: Config, *, tasks: int, steps: int) -> tuple[int, int]:
    """Fewest and most training rollouts. A step that draws known failures may do with one skill what it has done."""
    train = config.train
    if train.sampling == "all":
        return tasks, tasks * train.num_epochs
    read = min(tasks, train.tasks_per_step)
    return read, steps * read


def most_vetting(config: Config, *, tasks: int, draws: int) -> int:
    """Most rollouts of single edits on training tasks of their step; none of whole rewrites."""
    read = min(config.train.tasks_per_step, tasks)
    optimizer, edits = config.optimizer, config.optimizer.learning_rate
    if optimizer.budget_control != "fixed":
        # Without a budget of the schedule's, there are no more edits than the reflections propose.
        times = minibatches_of(config, read)
        edits *= min(times, MOST_TIMES) if optimizer.budget_control == "autonomous" else times
    return draws * edits * min(config.vetted_tasks, read)


def may_consolidate(config: Config) -> bool:
    """Whether a step that adds notes to an appendix may ask for fewer."""
    optimizer = config.optimizer
    return optimizer.use_skill_aware_reflection and optimizer.skill_aware_consolidate_threshold > 0


def minibatches_of(config: Config, tasks: int) -> int:
    """Most minibatches of a step that reads so many tasks."""
    size, batch_size = config.gradient.minibatch_size, config.train.batch_size
    batches = [min(batch_size, tasks - start) for start in range(0, tasks, batch_size)]
    # Failures and successes are never mixed, so both kinds may leave a minibatch that is not full.
    both = 0 if config.gradient.failure_only else 1
    return sum(math.ceil(batch / size) + both for batch in batches)


def may_rank(config: Config, minibatches: int) -> bool:
    """Whether more edits than the budget allows can come up; one reflection keeps to it."""
    control = config.optimizer.budget_control
    if config.optimizer.whole_rewrites or control == "none":
        return False
    return minibatches > 1 or control == "autonomous"


def merge_calls(patches: int, size: int) -> int:
    """Most merge calls for so many patches, however many of them come from failures: both sides, and the final one."""

    def one_side(count: int) -> int:
        calls = 0
        while count > 1:
            calls += count // size + (count % size > 1)
            count = math.ceil(count / size)
        return calls

    return max(
        one_side(failures) + one_side(patches - failures) + (0 < failures < patches) for failures in range(patches + 1)
    )


def most_growth(config: Config, tasks: int) -> int:
    """By how many tokens a step of so many tasks makes the skill grow; unclipped, only the skill's limit holds it."""
    optimizer = config.optimizer
    if optimizer.skill_update_mode != "patch" or optimizer.budget_control == "none":
        return config.skill.max_tokens
    times = MOST_TIMES if optimizer.budget_control == "autonomous" else 1
    notes = _TOKENS_PER_NOTE * tasks if optimizer.use_skill_aware_reflection else 0
    return _TOKENS_PER_EDIT * optimizer.learning_rate * times + notes
