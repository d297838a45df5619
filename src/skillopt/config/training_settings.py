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
    """Training tasks of one batch; a step reads one batch unless `accumulation` says more."""
    accumulation: Positive = 1
    """Batches a step: each is rolled out and reflected on by itself, and the edits of all are aggregated together."""
    sampling: Literal["all", "unsolved"] = "unsolved"
    """Which tasks a step's batch is drawn from: every epoch is one pass over all of them, or only those that were not
    seen yet or failed when they were last rolled out."""
    seed: int = 42
    """Seed from which every random choice of the training is derived."""

    @property
    def tasks_per_step(self) -> int:
        """Most training tasks of one step."""
        return self.batch_size * self.accumulation


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

    learning_rate: Count = 8
    """Most edits a step. 0 applies nothing."""
    min_learning_rate: Count | None = None
    """Most edits a step at the end of a decaying schedule; by default 2, or `learning_rate` where that is lower."""
    lr_scheduler: Literal["constant", "linear", "cosine", "autonomous"] = "constant"
    """How the edit budget goes from `learning_rate` to `min_learning_rate`; autonomous leaves it to the optimizer, as
    `lr_control_mode` autonomous does."""
    lr_control_mode: Literal["fixed", "autonomous", "none"] = "fixed"
    """Who clips a step: the schedule (fixed); the optimizer, which names the budget of each step with its reasons, at
    most 4 times `learning_rate` (autonomous); or nobody, so that all merged edits survive (none)."""
    skill_update_mode: Literal["patch", "rewrite_from_suggestions", "full_rewrite_minibatch"] = "patch"
    """What makes the candidate: the selected edits one by one (patch); a rewrite of the whole skill with the selected
    edits as suggestions; or a whole rewrite that each reflection proposes, of which the first usable one is taken."""
    near_duplicate: Annotated[float, Field(ge=0.0, le=100.0)] = 90.0
    """Similarity (0 to 100) from which two edits are merged without a model; 100 merges equal ones only."""
    rejection_memory: Literal["run", "epoch", "off"] = "run"
    """How long edits that were tried and lost are shown to the optimizer, and the same bundle is not tried again on the
    same skill: for the whole run, until the epoch ends, or not at all."""
    redraw: Count = 0
    """How often a step whose candidate was rejected, or whose edits were all vetted out, reflects again on the same
    trajectories, with what was lost before its eyes. It costs calls of the optimizer and of the gate, no new
    training rollouts."""
    use_skill_aware_reflection: bool = False
    """Judge each failure: where the skill is wrong or silent, edit it; where the target did not follow it, write a
    short reminder into the skill's appendix. Edits and reminders of a step pass the gate together."""
    skill_aware_appendix_source: Literal["both", "failure_only"] = "both"
    """Which reflections may write reminders: those on failures and on successes, or those on failures only."""
    skill_aware_consolidate_threshold: Count = 0
    """Reminders above which one call of the optimizer writes the appendix in fewer; kept only if it shrinks. 0 never
    asks."""
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

    @property
    def budget_control(self) -> Literal["fixed", "autonomous", "none"]:
        """The value of `lr_control_mode`; a schedule that is left to the optimizer says the same as autonomous."""
        return "autonomous" if self.lr_scheduler == "autonomous" else self.lr_control_mode

    @property
    def whole_rewrites(self) -> bool:
        """Whether reflections write whole skills, so that there are neither edits nor a budget for them."""
        return self.skill_update_mode == "full_rewrite_minibatch"

    @model_validator(mode="after")
    def _notes_beside_edits(self) -> Self:
        if self.whole_rewrites and self.use_skill_aware_reflection:
            raise ValueError(
                "skill_update_mode full_rewrite_minibatch writes whole skills in place of edits and reminders; leave "
                "out use_skill_aware_reflection, or use patch or rewrite_from_suggestions"
            )
        return self

    @model_validator(mode="after")
    def _redraws_remember(self) -> Self:
        if self.redraw and self.rejection_memory == "off":
            raise ValueError(
                "redraw reflects again with what was lost before its eyes, and rejection_memory off forgets it; leave "
                "one of them out"
            )
        return self

    @model_validator(mode="after")
    def _one_who_clips(self) -> Self:
        if self.lr_scheduler == "autonomous" and self.lr_control_mode == "none":
            raise ValueError(
                "lr_scheduler autonomous lets the optimizer name the edit budget and lr_control_mode none asks for "
                "none; leave one of them out"
            )
        if self.whole_rewrites and self.budget_control == "autonomous":
            raise ValueError(
                "skill_update_mode full_rewrite_minibatch has no edits, so there is no budget for the optimizer to "
                "name; leave out lr_control_mode and lr_scheduler autonomous, or use rewrite_from_suggestions"
            )
        return self

    @model_validator(mode="after")
    def _minimum_below_maximum(self) -> Self:
        decays = self.lr_scheduler in ("linear", "cosine") and self.budget_control != "none"
        if decays and self.lowest_learning_rate > self.learning_rate:
            raise ValueError(
                f"min_learning_rate is {self.min_learning_rate}, above learning_rate {self.learning_rate}; "
                "lower it or raise learning_rate"
            )
        return self


class SkillSettings(Section):
    """What the trained document may become."""

    max_tokens: Positive = 8000
    """Most tokens of the skill (estimated, no download); an edit that would exceed it is refused."""
    memorising: Literal["allow", "flag", "refuse"] = "flag"
    """What becomes of new text that copies training tasks, questions or expected answers: `allow` does not look, `flag`
    counts and shows it, `refuse` does not let it into the skill, and tells the optimizer so."""
    memorising_ngram: Positive = 8
    """How many words in a row, or twice as many characters of a script without spaces, are a copy of a task. A shorter
    text of a task counts where it is copied whole."""
