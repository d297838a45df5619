"""How to train: portions, reflection, edit budget, and what the document may become."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from skillopt.config.section import Count, Positive, Section


class TrainSettings(Section):
    """How long and in which portions to train."""

    num_epochs: Positive = 4
    """Passes over the training split."""
    train_size: Count = 0
    """Number of training tasks to use: the first N. 0 means all of them."""
    batch_size: Positive = 40
    """Training tasks a step."""
    seed: int = 42
    """Seed from which every random choice of the training is derived."""


class GradientSettings(Section):
    """How the optimizer learns from trajectories."""

    minibatch_size: Positive = 8
    """Trajectories that one reflection reads."""
    merge_batch_size: Annotated[int, Field(ge=2)] = 8
    """Patches that one merge reads."""
    analyst_workers: Positive = 16
    """Most reflections and merges at once."""
    failure_only: bool = False
    """Reflect on failures only."""
    trajectory_tokens: Annotated[int, Field(ge=64)] = 2000
    """Most tokens of one trajectory in a reflection (estimated); its middle is left out first."""


class OptimizerSettings(Section):
    """How large the steps are, and what happens between epochs."""

    learning_rate: Count = 4
    """Most edits a step. 0 applies nothing."""
    min_learning_rate: Count | None = None
    """Most edits a step at the end of a decaying schedule; by default 2, or `learning_rate` where that is lower."""
    lr_scheduler: Literal["constant", "linear", "cosine"] = "cosine"
    """How the edit budget goes from `learning_rate` to `min_learning_rate`."""
    near_duplicate: Annotated[float, Field(ge=0.0, le=100.0)] = 90.0
    """Similarity (0 to 100) from which two edits are merged without a model; 100 merges equal ones only."""
    rejection_memory: Literal["run", "epoch", "off"] = "run"
    """How long edits that were tried and lost are shown to the optimizer, and the same bundle is not tried again on the
    same skill: for the whole run, until the epoch ends, or not at all."""
    redraw: Count = 0
    """How often a step whose candidate was rejected reflects again on the same trajectories, with what was lost before
    its eyes. It costs calls of the optimizer and of the gate, no new training rollouts."""
    use_slow_update: bool = True
    """At the end of every epoch from the second on, look back and write guidance into the skill's protected section."""
    slow_update_samples: Positive = 20
    """Training tasks on which the skills of two epochs are compared."""
    longitudinal_pair_policy: Literal["mixed", "changed", "unchanged"] = "mixed"
    """Which compared tasks the optimizer sees: all; those whose score changed, looked for among further training tasks
    until there are `slow_update_samples` of them; or those whose score did not change."""
    slow_update_gate_with_selection: bool = True
    """Accept new guidance only if the gate does; false applies it unconditionally and measures the skill again."""
    use_meta_skill: bool = True
    """At the end of every epoch from the second on, let the optimizer write itself a short memory of which edits
    helped, which the next epoch's calls read. It is never part of the skill."""

    @property
    def lowest_learning_rate(self) -> int:
        """The value of `min_learning_rate`, or its default."""
        return min(2, self.learning_rate) if self.min_learning_rate is None else self.min_learning_rate

    @model_validator(mode="after")
    def _minimum_below_maximum(self) -> Self:
        if self.lr_scheduler != "constant" and self.lowest_learning_rate > self.learning_rate:
            raise ValueError(
                f"min_learning_rate is {self.min_learning_rate}, above learning_rate {self.learning_rate}; "
                "lower it or raise learning_rate"
            )
        return self


class SkillSettings(Section):
    """What the trained document may become."""

    max_tokens: Positive = 8000
    """Most tokens of the skill (estimated, no download); an edit that would exceed it is refused."""
