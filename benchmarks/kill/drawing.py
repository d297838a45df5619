"""Which settings a run has and where it is killed, drawn from a seed."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from benchmarks.kill.child import CALL_ARRIVED, KINDS, RANDOM, Moment, Shot


def draw_settings(draw: random.Random) -> dict[str, Any]:
    """Draw a training of three epochs of two steps in which every stage occurs."""
    return {
        "train.num_epochs": 3,
        "train.batch_size": 6,
        "gradient.minibatch_size": draw.choice((2, 3)),
        "train.sampling": draw.choice(("all", "unsolved")),
        "model.target.concurrency": draw.choice((1, 1, 2, 4)),
        "model.optimizer.concurrency": draw.choice((1, 1, 2, 4)),
        "optimizer.learning_rate": draw.choice((1, 1, 2)),
        "optimizer.lr_scheduler": draw.choice(("cosine", "constant", "linear")),
        "optimizer.redraw": draw.choice((0, 1)),
        "optimizer.slow_update_gate_with_selection": draw.choice((True, False)),
        "optimizer.slow_update_samples": 5,
        "evaluation.gate_metric": draw.choice(("hard", "soft", "mixed")),
        "evaluation.final_repeats": draw.choice((0, 2)),
        "evaluation.repeats": draw.choice((1, 1, 2)),
        **draw.choice(_WAYS),
    }


_WAYS: Sequence[Mapping[str, Any]] = (
    {},
    {"evaluation.vet": 2},
    {"evaluation.vet": 2, "optimizer.use_skill_aware_reflection": True},
    {"optimizer.use_skill_aware_reflection": True, "optimizer.skill_aware_consolidate_threshold": 2},
    {"evaluation.gate_every": 2},
    {"evaluation.remeasure": True, "evaluation.refresh": 1},
    {"optimizer.lr_control_mode": "autonomous"},
    {"optimizer.skill_update_mode": "rewrite_from_suggestions"},
    {"optimizer.skill_update_mode": "full_rewrite_minibatch"},
    {"evaluation.reselect": 2, "evaluation.final_repeats": 2},
)
"""What goes beyond the plain loop, one at a time: not all of it goes together."""


def draw_shot(draw: random.Random, moments: Sequence[Moment], *, kind: str, replies: int, seconds: float) -> Shot:
    """Draw where a run is killed.

    Args:
        draw: Where from.
        moments: The moments of the whole run, in their order.
        kind: One of `KINDS`.
        replies: The replies that the whole run took.
        seconds: What the whole run took.
    """
    if kind == RANDOM:
        return Shot(kind, seconds=draw.uniform(0.0, seconds))
    if kind == CALL_ARRIVED:
        return Shot(kind, replies=draw.randrange(replies))
    # A stage first, so that those which pass in a moment come as often as the long ones.
    stages: dict[str, list[int]] = defaultdict(list)
    same = [moment for moment in moments if moment.kind == kind]
    if not same:
        return Shot(RANDOM, seconds=draw.uniform(0.0, seconds))
    for index, moment in enumerate(same):
        stages[moment.stage].append(index)
    index = draw.choice(stages[draw.choice(sorted(stages))])
    replies = same[index].replies
    first = next(number for number, moment in enumerate(same) if moment.replies >= replies)
    return Shot(kind, replies=replies, number=index - first + 1)


def draw_shots(
    draw: random.Random, moments: Sequence[Moment], *, first: str, most: int, replies: int, seconds: float
) -> list[Shot]:
    """Draw the kills of one run, 1 to `most`, the first of them of the kind that is asked for."""
    kinds = [first, *(draw.choice(KINDS) for _ in range(draw.randrange(most)))]
    return [draw_shot(draw, moments, kind=kind, replies=replies, seconds=seconds) for kind in kinds]
