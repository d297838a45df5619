"""How skills are measured and compared."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from skillopt.config.section import Count, FunctionName, Positive, Section, Share
from skillopt.types import Criterion


class EvaluationSettings(Section):
    """How skills are measured and compared."""

    vet: Count = 2
    """Ahead of the gate, try each edit alone on up to this many training tasks that its analyst cited; it joins the
    candidate only if it does better on those that failed, or, from successes, no worse. One that cites none joins. 0
    lets every edit join. Nothing is tried so where the skill is rewritten whole, without a gate, or with an
    `acceptance` rule."""
    use_gate: bool = True
    """Accept a candidate only if it scores strictly higher; false accepts every one and records its score."""
    gate_metric: Literal["hard", "soft", "mixed"] = "hard"
    """Score the gate compares: solved tasks, partial credit, or `(1 - w) * hard + w * soft`."""
    gate_mixed_weight: Share = 0.5
    """The weight w of partial credit in the mixed metric."""
    criterion: Annotated[str, Field(min_length=1)] | None = None
    """Name of the criterion that the gate compares in place of the score, where the environment scores several."""
    guards: dict[str, Share] = Field(default_factory=dict[str, float])
    """On top of strictly higher: criteria whose mean may fall by at most this share (0 to 1), by name."""
    gate_block: Positive = 8
    """Selection tasks measured at a time before the gate looks whether the candidate can still win."""
    repeats: Positive = 1
    """Rollouts of each selection task, for the seed and for every candidate; a task's score is their mean."""
    sel_env_num: Count = 0
    """Selection tasks to use: the first N. 0 means all of them."""
    test_env_num: Count = 0
    """Test tasks to use: the first N. 0 means all of them."""
    eval_test: bool = True
    """Measure the seed skill and the best skill on the test split at the end."""
    max_unmeasured: Share = 0.1
    """Share of a batch of tasks that may stay unmeasured (outage, timeout) before the run stops."""
    remeasure: bool = False
    """Measure an accepted skill again, as often; the fresh score becomes the bar, in place of the one that won."""
    refresh: Count = 0
    """After so many rejections in a row, measure the current skill in a fresh pass and average it into the bar. 0 never
    does."""
    gate_every: Positive = 1
    """Gate the edits of so many steps together; halved at each rejection, down to 1."""
    confidence: Annotated[float, Field(ge=0.0, lt=1.0)] | None = None
    """On top of strictly higher: the exact one-sided sign test on the tasks that changed must have p <= 1 - this."""
    max_regressions: Count | None = None
    """On top of strictly higher: most tasks that the current skill solved and the candidate does not."""
    acceptance: FunctionName | None = None
    """A Python function that decides in place of the strict rule: `module:function` or `file.py:function`."""
    final_repeats: Count = 0
    """After the last step, measure best and seed skill in this many fresh passes; their means are what is reported."""
    reselect: Count = 0
    """After the last step, choose the best skill among this many of the highest scored by a fresh measurement."""
    patience: Count = 0
    """Stop after this many steps in a row without an accepted candidate. 0 goes on to the last step."""

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        beside = [name for name in ("confidence", "max_regressions", "guards") if getattr(self, name) not in (None, {})]
        if self.acceptance is not None and beside:
            raise ValueError(f"acceptance decides alone; leave out {' and '.join(beside)}, or acceptance")
        for name in (*beside, "acceptance"):
            if not self.use_gate and getattr(self, name) is not None:
                raise ValueError(
                    f"use_gate is false, so every candidate is accepted; leave out {name}, or use the gate"
                )
        if not self.use_gate and (self.refresh or self.gate_every > 1):
            raise ValueError(
                "use_gate is false, so nothing is rejected; leave out refresh and gate_every, or use the gate"
            )
        if self.criterion is not None and self.gate_metric != "hard":
            raise ValueError("criterion is compared in place of the score; leave out gate_metric, or criterion")
        if self.criterion in self.guards:
            raise ValueError(f"{self.criterion} is the criterion that must get higher; leave it out of guards")
        return self

    @property
    def compared(self) -> Literal["hard", "soft", "mixed"] | Criterion:
        """What the gate compares: the metric of the score, or one criterion."""
        return self.gate_metric if self.criterion is None else Criterion(self.criterion)

    @property
    def criteria(self) -> tuple[str, ...]:
        """Names of the criteria that every score must have."""
        return (*((self.criterion,) if self.criterion is not None else ()), *self.guards)
