"""What a training will cost, before it costs anything: calls, tokens and dollars by stage, as ranges.

The lower end is a training in which nothing is proposed, so that one skill does every task once. The upper end is one
in which every step measures a candidate on the whole selection split and every reply of the optimizer is asked for
twice, since the first one cannot be used. A training that ends early, because no score can be higher any more, stays
below. Token counts are estimates: prompts from the tasks themselves, answers and the growth of the skill from the
assumptions below.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from skillopt.config.schema import Config
from skillopt.data.splits import steps_per_epoch
from skillopt.environments.foreign import foreign_code
from skillopt.errors import SkillOptError
from skillopt.evaluation.acceptance import fewest_changes
from skillopt.models.prices import Prices
from skillopt.run.limit_warnings import large_and_unlimited, limit_warnings
from skillopt.run.plan_steps import (
    may_consolidate,
    may_rank,
    merge_calls,
    minibatches_of,
    most_growth,
    most_rollouts,
    most_vetting,
)
from skillopt.run.planned import FEW_STEPS, Plan, PlannedStage
from skillopt.run.setup import Setup
from skillopt.skill.size import estimate_tokens, size_warning
from skillopt.types import Role, Task, Usage
from skillopt.wording import counted

_ANSWER_TOKENS = (20, 500)
"""Tokens of one answer of the target, at least and at most, unless `model.target.max_tokens` is lower."""
_REPLY_TOKENS = (150, 1500)
"""Tokens of one reply of the optimizer, at least and at most, unless `model.optimizer.max_tokens` is lower."""
_INSTRUCTION_TOKENS = 400
"""The fixed part of an optimizer prompt."""
_ASKED_AGAIN = 1
"""How often a reply that cannot be used is asked for again."""
_Row: TypeAlias = tuple[Role, str, int, int]
"""Whose calls, the stage, and how many calls at least and at most."""
FEW_TASKS = 10
"""With fewer tasks than this a split tells little."""


def plan(setup: Setup, prices: Prices) -> Plan:
    """Return the plan of a training; it asks no model."""
    config, splits = setup.config, setup.splits
    steps = _total_steps(setup)
    sizes = _Sizes.of(setup, steps)
    train, val, test = len(splits.train), len(splits.val), len(splits.test)
    minibatches = minibatches_of(config, min(train, config.train.tasks_per_step))
    optimizer = config.optimizer
    merges = 0 if optimizer.whole_rewrites else merge_calls(minibatches, config.gradient.merge_batch_size)
    repeats = config.evaluation.repeats
    tests = test if config.evaluation.eval_test else 0
    proposing = steps if config.optimizer.learning_rate else 0
    draws = proposing * (1 + config.optimizer.redraw)
    asked = draws * (1 + _ASKED_AGAIN)
    tried = _most_gates(setup) * (1 + config.optimizer.redraw) if proposing else 0
    rows: tuple[_Row, ...] = (
        ("target", "baseline", repeats * val, repeats * val),
        ("target", "rollout", *most_rollouts(config, tasks=train, steps=steps)),
        ("optimizer", "reflect", 0, asked * minibatches),
        ("optimizer", "aggregate", 0, asked * merges),
        *_on_demand("optimizer", "budget", asked if optimizer.budget_control == "autonomous" else 0),
        ("optimizer", "select", 0, asked if may_rank(config, minibatches) else 0),
        ("optimizer", "update", 0, 0 if optimizer.whole_rewrites else asked),
        *_on_demand("target", "vet", most_vetting(config, tasks=train, draws=draws)),
        *_on_demand("optimizer", "appendix_consolidate", asked if may_consolidate(config) else 0),
        ("target", "gate", 0, tried * _judging(setup)),
        *_refreshing(setup, tried),
        *_between_epochs(setup),
        *_final_stage(setup, tried),
        ("target", "test", tests, 2 * tests if proposing or _looks_back(config) else tests),
    )
    stages = tuple(_stage(row, sizes, prices) for row in rows)
    large = large_and_unlimited(config, stages)
    limits = limit_warnings(config, stages, steps=steps, prices=prices)
    warnings = (*plan_warnings(setup), *limits, *([large] if large else ()))
    return Plan(steps, {"train": train, "val": val, "test": test}, stages, warnings, large)


def _on_demand(role: Role, stage: str, most: int) -> tuple[_Row, ...]:
    """A stage that only some configurations have."""
    return ((role, stage, 0, most),) if most else ()


def _most_gates(setup: Setup) -> int:
    """Most steps that end with a gate: where all is rejected, the steps that are gated together soon are one alone."""
    config = setup.config
    window, gates = config.evaluation.gate_every, 0
    for _ in range(config.train.num_epochs):
        waiting = 0
        for left in reversed(range(_steps_per_epoch(setup))):
            waiting += 1
            if waiting >= window or not left:
                gates, waiting = gates + 1, 0
                # Each draw that is lost halves it.
                window = max(1, window >> (1 + config.optimizer.redraw))
    return gates


def _refreshing(setup: Setup, tried: int) -> list[_Row]:
    """The fresh passes after rejections: one ahead of a step at most, and so many rejections for each."""
    patience, ends = setup.config.evaluation.refresh, setup.config.train.num_epochs - 1
    if not patience:
        return []
    rejections = tried + (ends if _looks_back(setup.config) else 0)
    return [("target", "refresh", 0, min(_total_steps(setup) - 1, rejections // patience) * len(setup.splits.val))]


def _judging(setup: Setup) -> int:
    """Most rollouts of one candidate at the gate."""
    evaluation = setup.config.evaluation
    return (1 + evaluation.remeasure) * evaluation.repeats * len(setup.splits.val)


def _final_stage(setup: Setup, tried: int) -> list[_Row]:
    """The fresh passes after the last step, where some are asked for."""
    evaluation = setup.config.evaluation
    candidates = tried + (setup.config.train.num_epochs - 1 if _looks_back(setup.config) else 0)
    field = min(evaluation.reselect, candidates + 1)
    passes = 2 * evaluation.final_repeats + (field * evaluation.repeats if field > 1 else 0)
    most = passes * len(setup.splits.val) if candidates else 0
    return [("target", "final", 0, most)] if most else []


def _looks_back(config: Config) -> bool:
    return config.optimizer.use_slow_update and config.train.num_epochs > 1


def _between_epochs(setup: Setup) -> tuple[_Row, ...]:
    """The stages at the end of every epoch from the second on: both skills on the compared tasks, a call, a gate."""
    optimizer, train, ends = setup.config.optimizer, len(setup.splits.train), setup.config.train.num_epochs - 1
    everything = optimizer.longitudinal_pair_policy == "changed"
    compared = 2 * (train if everything else min(train, optimizer.slow_update_samples))
    calls: dict[str, int] = {}
    if optimizer.use_slow_update:
        calls["slow_update"] = compared + _judging(setup)
    if optimizer.use_meta_skill:
        calls["meta_skill"] = 0 if optimizer.use_slow_update else compared
    rows: list[_Row] = []
    for stage, target in calls.items():
        rows.append(("target", stage, 0, ends * target))
        rows.append(("optimizer", stage, 0, ends * (1 + _ASKED_AGAIN)))
    return tuple(row for row in rows if row[3])


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
        growth = most_growth(config, min(len(setup.splits.train), config.train.tasks_per_step))
        grown = min(config.skill.max_tokens, seed + growth * steps)
        task = _mean_prompt(setup, setup.splits.val)
        answer = _capped(_ANSWER_TOKENS, config.model.target.max_tokens)
        trajectory = min(config.gradient.trajectory_tokens, task + answer[1])
        read = config.gradient.minibatch_size * trajectory
        rewritten = config.optimizer.skill_update_mode != "patch"  # Then the reply is as long as the skill.
        least, most = _REPLY_TOKENS
        return cls(
            target_prompt=(seed + task, max(grown, seed) + task),
            answer=answer,
            optimizer_prompt=(_INSTRUCTION_TOKENS + seed, _INSTRUCTION_TOKENS + max(grown, seed) + read),
            reply=_capped((least, max(most, grown) if rewritten else most), config.model.optimizer.max_tokens),
        )


def _mean_prompt(setup: Setup, tasks: Sequence[Task]) -> int:
    texts = [text for task in tasks[:50] if (text := _prompt(setup, task)) is not None]
    return sum(estimate_tokens(text) for text in texts) // max(1, len(texts))


def _prompt(setup: Setup, task: Task) -> str | None:
    """Return what the target is asked; None where the environment cannot say, which measuring tells with its reason."""
    try:
        with foreign_code():
            return "\n".join(message.content for message in setup.environment.present(task).messages)
    except SkillOptError:
        return None


def _capped(span: tuple[int, int], most: int | None) -> tuple[int, int]:
    return span if most is None else (min(span[0], most), min(span[1], most))


def _stage(row: _Row, sizes: _Sizes, prices: Prices) -> PlannedStage:
    role, stage, *calls = row
    prompt, answer = (sizes.target_prompt, sizes.answer) if role == "target" else (sizes.optimizer_prompt, sizes.reply)
    low, high = (
        Usage(count, fresh_tokens=count * fresh, output_tokens=count * output)
        for count, fresh, output in zip(calls, prompt, answer, strict=True)
    )
    dollars = (_dollars(prices, role, calls[0], low), _dollars(prices, role, calls[1], high))
    return PlannedStage(role, stage, (calls[0], calls[1]), (low, high), dollars)


def _dollars(prices: Prices, role: Role, calls: int, usage: Usage) -> float | None:
    """Return the price of equal calls; one by one, since a price may rise with the length of a prompt."""
    if not calls:
        return 0.0
    one = Usage(1, fresh_tokens=usage.fresh_tokens // calls, output_tokens=usage.output_tokens // calls)
    price = prices.dollars(role, one)
    return None if price is None else calls * price


def _total_steps(setup: Setup) -> int:
    return _steps_per_epoch(setup) * setup.config.train.num_epochs


def _steps_per_epoch(setup: Setup) -> int:
    return steps_per_epoch(len(setup.splits.train), setup.config.train.tasks_per_step)


def plan_warnings(setup: Setup) -> tuple[str, ...]:
    """Return what a person should know before the training starts, a sentence each, with the numbers it is about."""
    config, splits = setup.config, setup.splits
    found = list(setup.warnings)
    steps, val, test = _total_steps(setup), len(splits.val), len(splits.test)
    if steps < FEW_STEPS:
        k = config.train.accumulation
        together = f" times train.accumulation {k}" if k > 1 else ""
        found.append(
            f"only {counted(steps, 'proposal')} will be tried: {counted(len(splits.train), 'training task')} at "
            f"train.batch_size {config.train.batch_size}{together}, {config.train.num_epochs} times over; lower "
            "train.batch_size or raise train.num_epochs"
        )
    if val < FEW_TASKS and config.evaluation.compared == "hard":
        found.append(
            f"the selection split, on which the gate decides, has {counted(val, 'task')}: one of them is worth "
            f"{1 / val:.0%}, and an edit that gains less cannot be seen; use more selection tasks, or, where the "
            "scorer gives partial credit, gate_metric soft or mixed"
        )
    elif val < FEW_TASKS:
        found.append(
            f"the selection split, on which the gate decides, has {counted(val, 'task')}: on so few a better "
            "score may be luck; use more selection tasks"
        )
    size = size_warning(estimate_tokens(setup.seed_skill.text), config.skill.max_tokens)
    if size:
        found.append(f"at the start, {size}")
    confidence = config.evaluation.confidence
    if confidence is not None and fewest_changes(confidence) > val:
        found.append(
            f"no candidate can be accepted: evaluation.confidence {confidence:g} takes {fewest_changes(confidence)} "
            f"tasks that change, all for the better, and the selection split has {val}"
        )
    if test < FEW_TASKS and config.evaluation.eval_test:
        found.append(
            f"the test split, which no step sees and which says what the skill is worth, has {counted(test, 'task')}: "
            f"one of them is worth {1 / test:.0%} of the result"
        )
    return tuple(found)
