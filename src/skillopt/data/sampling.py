"""Which training tasks a step works on where it is not simply the next part of a pass over all of them.

It draws tasks; what is known of them is carried by the state, and how many steps there are does not depend on it.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from skillopt.results import LastSeen
from skillopt.types import Task


def unsolved_batch(
    tasks: Sequence[Task], last_seen: Mapping[str, LastSeen], *, size: int, draw: random.Random
) -> tuple[Task, ...]:
    """Return a batch of tasks that were not seen yet or failed when they were last rolled out, in random order.

    Where fewer than `size` are left the batch is smaller. Where none is left, it is made of those that were seen
    longest ago, so that the steps pass over the whole split again: a later edit may have broken what was solved. A task
    that could not be measured waits for that pass too; drawn again at once it would soon fill the batches.

    Args:
        tasks: The training split, in its order.
        last_seen: By task id, how the tasks that were rolled out so far stood the last time.
        size: Most tasks of the batch, 1 or more.
        draw: The generator of this choice.
    """
    shuffled = list(tasks)
    draw.shuffle(shuffled)
    unsolved = [task for task in shuffled if task.id not in last_seen or last_seen[task.id].solved is False]
    waiting = unsolved or sorted(shuffled, key=lambda task: last_seen[task.id].step)
    return tuple(waiting[:size])
