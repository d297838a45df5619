"""What a training will cost, before it costs anything: calls, tokens and dollars by stage, as ranges.

The lower end is a training in which nothing is proposed, the upper end one in which every step measures a candidate on
the whole selection split. Token counts are estimates: prompts from the tasks themselves, answers and the growth of the
skill from the assumptions below.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from skillopt.models.prices import Prices
from skillopt.run.setup import Setup
from skillopt.skill.size import estimate_tokens
from skillopt.types import Role, Task, Usage

_ANSWER_TOKENS = (20, 500)
"""Tokens of one answer of the target, at least and at most, unless `model.target.max_tokens` is lower."""
_REPLY_TOKENS = (150, 1500)
"""Tokens of one reply of the optimizer, at least and at most, unless `model.optimizer.max_tokens` is lower."""
_TOKENS_PER_EDIT = 60
"""By how much one applied edit makes the skill grow."""
_INSTRUCTION_TOKENS = 400
"""The fixed part of an optimizer prompt."""
FEW_STEPS = 3
"""Fewer proposals than this give the gate hardly a chance."""


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """Calls and tokens of one stage over the whole run, at least and at most.

    Attributes:
        role: Whose calls they are.
        stage: The method's word.
        calls: Lowest and highest number of calls.
        usage: Lowest and highest tokens.
        dollars: Lowest and highest price; None where it is not known.
    """

    role: Role
    stage: str
    calls: tuple[int, int]
    usage: tuple[Usage, Usage]
    dollars: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a training.

    Attributes:
        steps: Steps over all epochs: so many proposals fit.
        tasks: Tasks by split.
        stages: In the order of the method.
        warnings: What a person should know before it starts.
    """

    steps: int
    tasks: dict[str, int]
    stages: tuple[PlannedStage, ...]
    warnings: tuple[str, ...]

    def calls(self, role: Role) -> tuple[int, int]:
        """Lowest and highest number of calls of a role."""
        own = [stage.calls for stage in self.stages if stage.role == role]
        return sum(low for low, _ in own), sum(high for _, high in own)


def plan(setup: Setup, prices: Prices) -> Plan:
    """Return the plan of a training; it asks no model."""
    config, splits = setup.config, setup.splits
    per_epoch = math.ceil(len(splits.train) / config.train.batch_size)
    steps = per_epoch * config.train.num_epochs
    sizes = _Sizes.of(setup, steps)
    train, val, test = len(splits.train), len(splits.val), len(splits.test)
    rollouts = train * config.train.num_epochs
    minibatches = math.ceil(min(train, config.train.batch_size) / config.gradient.minibatch_size)
    minibatches += 0 if config.gradient.failure_only or minibatches == 0 else 1
    merges = _merge_calls(minibatches, config.gradient.merge_batch_size)
    tests = test if config.evaluation.eval_test else 0
    more = steps if config.optimizer.learning_rate else 0
    rows: tuple[tuple[Role, str, int, int], ...] = (
        ("target", "baseline", val, val),
        ("target", "rollout", rollouts, rollouts),
        ("optimizer", "reflect", 0, more * minibatches),
        ("optimizer", "aggregate", 0, more * merges),
        ("optimizer", "select", 0, more if minibatches > 1 else 0),
        ("optimizer", "update", 0, more),
        ("target", "gate", 0, more * val),
        ("target", "test", tests, 2 * tests),
    )
    stages = tuple(_stage(row, sizes, prices) for row in rows)
    return Plan(steps, {"train": train, "val": val, "test": test}, stages, _warnings(setup, steps))


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Estimated tokens of one call: prompts and answers, at least and at most."""

    target_prompt: tuple[int, int]
    answer: tuple[int, int]
    optimizer_prompt: tuple[int, int]
    reply: tuple[int, int]

    @classmethod
    def of(cls, setup: Setup, steps: int) -> _Sizes:
        config = setup.config
        seed = estimate_tokens(setup.seed_skill.text)
        grown = min(config.skill.max_tokens, seed + _TOKENS_PER_EDIT * config.optimizer.learning_rate * steps)
        task = _mean_prompt(setup, setup.splits.val)
        answer = _capped(_ANSWER_TOKENS, config.model.target.max_tokens)
        trajectory = min(config.gradient.trajectory_tokens, task + answer[1])
        read = config.gradient.minibatch_size * trajectory
        return cls(
            target_prompt=(seed + task, max(grown, seed) + task),
            answer=answer,
            optimizer_prompt=(_INSTRUCTION_TOKENS + seed, _INSTRUCTION_TOKENS + max(grown, seed) + read),
            reply=_capped(_REPLY_TOKENS, config.model.optimizer.max_tokens),
        )


def _mean_prompt(setup: Setup, tasks: Sequence[Task]) -> int:
    shown = tasks[:50]
    texts = ["\n".join(message.content for message in setup.environment.present(task).messages) for task in shown]
    return sum(estimate_tokens(text) for text in texts) // len(shown)


def _capped(span: tuple[int, int], most: int | None) -> tuple[int, int]:
    return span if most is None else (min(span[0], most), min(span[1], most))


def _merge_calls(patches: int, group: int) -> int:
    """Most merge calls for so many patches: every level's groups of two or more, and the final one."""
    calls = 0
    while patches > 1:
        calls += sum(min(group, patches - start) > 1 for start in range(0, patches, group))
        patches = math.ceil(patches / group)
    return calls + 1 if calls else 0


def _stage(row: tuple[Role, str, int, int], sizes: _Sizes, prices: Prices) -> PlannedStage:
    role, stage, *calls = row
    prompt, answer = (sizes.target_prompt, sizes.answer) if role == "target" else (sizes.optimizer_prompt, sizes.reply)
    low, high = (
        Usage(count, fresh_tokens=count * fresh, output_tokens=count * output)
        for count, fresh, output in zip(calls, prompt, answer, strict=True)
    )
    return PlannedStage(
        role, stage, (calls[0], calls[1]), (low, high), (prices.dollars(role, low), prices.dollars(role, high))
    )


def _warnings(setup: Setup, steps: int) -> tuple[str, ...]:
    config = setup.config
    found = list(setup.warnings)
    if steps < FEW_STEPS:
        found.append(
            f"only {steps} proposal(s) fit: {len(setup.splits.train)} training tasks at batch_size "
            f"{config.train.batch_size} over {config.train.num_epochs} epoch(s); lower train.batch_size or raise "
            "train.num_epochs"
        )
    if config.evaluation.gate_metric == "hard" and len(setup.splits.val) < 10:
        found.append(
            f"one of the {len(setup.splits.val)} selection tasks is worth {1 / len(setup.splits.val):.0%}: an edit "
            "that gains less cannot be seen; use more selection tasks, or gate_metric soft or mixed"
        )
    return tuple(found)
