"""Every setting there is: name, type, range, default, meaning.

The documentation of the settings is generated from this file. Sections and keys keep the names that users of the
method know. Every key has a default except the two models; unknown keys are errors.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


def _three_parts(ratio: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{0,8}(:[1-9][0-9]{0,8}){2}", ratio):
        raise ValueError("it must be three whole numbers above 0, such as 2:1:7")
    return ratio


Ratio = Annotated[str, AfterValidator(_three_parts)]


class Section(BaseModel):
    """Base of every section: frozen, and an unknown key is an error."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )


class PriceSettings(Section):
    """What a model costs, in dollars for a million tokens, where it is not publicly known or differs."""

    input: Annotated[float, Field(ge=0.0)]
    """Dollars for a million input tokens that were not cached."""
    cached_input: Annotated[float, Field(ge=0.0)] | None = None
    """Dollars for a million cached input tokens; by default the price of fresh ones."""
    output: Annotated[float, Field(ge=0.0)]
    """Dollars for a million output tokens."""


class RoleSettings(Section):
    """One model and how it is called. A plain string stands for `{name: STRING}`."""

    name: str
    """`provider:model`, such as `openai:gpt-5.5`, `ollama:qwen3`, `local:qwen2.5-coder-1.5b` or `compatible:any`."""
    base_url: str | None = None
    """Address of the API up to and including `/v1`; by default the provider's own."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key; by default the provider's own. Never the key itself."""
    temperature: Annotated[float, Field(ge=0.0, le=2.0)] | None = None
    """Sampling temperature; not sent unless set. 0 for `local:` models unless set."""
    max_tokens: Positive | None = None
    """Most tokens of one reply, reasoning included; not sent unless set (16384 is the public default). 1024 for
    `local:` models unless set."""
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = None
    """How long a reasoning model may think; not sent unless set."""
    thinking: bool | None = None
    """Switch thinking on or off where the provider has a switch; unset leaves it to the server."""
    schema_replies: bool | None = None
    """Ask the provider to constrain replies to a JSON schema; by default where the provider is known to do so."""
    timeout: Annotated[float, Field(gt=0.0)] = 300.0
    """Seconds one call may take, down to the socket; a call that takes longer is cancelled and tried again."""
    attempts: Positive = 5
    """How often a call is tried when failures are transient."""
    concurrency: Positive = 16
    """Most calls in flight at once for this role."""
    price: PriceSettings | None = None
    """Prices that override the public price list."""
    extra_body: dict[str, Any] = Field(default_factory=dict)
    """Further fields of the request body, sent as they are."""


class ModelSettings(Section):
    """The two models of the method."""

    optimizer: RoleSettings
    """The model that edits the skill. One that is stronger than the target helps."""
    target: RoleSettings
    """The frozen model that does the tasks with the skill in its prompt."""


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


class EvaluationSettings(Section):
    """How skills are measured and compared."""

    use_gate: bool = True
    """Accept a candidate only if it scores strictly higher; false accepts every one and records its score."""
    gate_metric: Literal["hard", "soft", "mixed"] = "hard"
    """Score the gate compares: solved tasks, partial credit, or `(1 - w) * hard + w * soft`."""
    gate_mixed_weight: Share = 0.5
    """The weight w of partial credit in the mixed metric."""
    gate_block: Positive = 8
    """Selection tasks measured at a time before the gate looks whether the candidate can still win."""
    sel_env_num: Count = 0
    """Selection tasks to use: the first N. 0 means all of them."""
    test_env_num: Count = 0
    """Test tasks to use: the first N. 0 means all of them."""
    eval_test: bool = True
    """Measure the seed skill and the best skill on the test split at the end."""
    max_unmeasured: Share = 0.1
    """Share of a batch of tasks that may stay unmeasured (outage, timeout) before the run stops."""


class EnvSettings(BaseModel):
    """What the tasks are, where they come from and where the run is kept.

    Keys that are not listed here belong to the environment and are checked against its own settings.
    """

    model_config = ConfigDict(
        extra="allow", frozen=True, strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    name: str = "question_answering"
    """Environment: a built-in name, an entry point, or a Python file (`my_env.py` or `my_env.py:ClassName`)."""
    skill_init: str | None = None
    """File of the seed skill. Unset starts from an empty skill; a path that does not exist is an error."""
    split_mode: Literal["ratio", "split_dir"] | None = None
    """`ratio` splits `data_path`; `split_dir` reads a directory of three. By default whichever of the two is set."""
    data_path: str | None = None
    """Task file (JSON, JSONL or CSV) or a directory with exactly one; for split_mode ratio."""
    split_dir: str | None = None
    """Directory with train, val and test: folders with one task file each, or files train.*, val.*, test.*."""
    split_ratio: Ratio = "2:1:7"
    """Parts for train, val and test, for split_mode ratio."""
    split_seed: int = 42
    """Seed of the shuffle before a ratio split."""
    limit: Count = 0
    """Use only the first N tasks of every split. 0 means all of them."""
    fields: dict[str, str] = Field(default_factory=dict)
    """Field mapping: name the environment expects -> name in the task file, such as `{question: prompt}`."""
    workers: Positive = 16
    """Most tasks under way at once."""
    exec_timeout: Annotated[float, Field(gt=0.0)] = 120.0
    """Seconds one task may take before it counts as unmeasured."""
    out_root: str | None = None
    """Run directory; by default `outputs/NAME_OPTIMIZER_TIME`."""


class Config(Section):
    """The whole configuration of a run."""

    model: ModelSettings
    """The two models."""
    train: TrainSettings = TrainSettings()
    """Epochs, batches, seed."""
    gradient: GradientSettings = GradientSettings()
    """Reflection and merging."""
    optimizer: OptimizerSettings = OptimizerSettings()
    """Edit budget and its schedule, slow update, meta skill."""
    skill: SkillSettings = SkillSettings()
    """Limits of the trained document."""
    evaluation: EvaluationSettings = EvaluationSettings()
    """Gate and final test."""
    env: EnvSettings = EnvSettings()
    """Tasks and environment."""
