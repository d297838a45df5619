"""How skills are measured and compared."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from skillopt.config.section import Count, FunctionName, Positive, Section, Share


class EvaluationSettings(Section):
    """How skills are measured and compared."""

    vet: Count = 0
    """Ahead of the gate, try each edit alone on up to this many training tasks that its analyst cited; it joins the
    candidate only if it does better there, or, from successes, no worse. 0 lets every edit join."""
    use_gate: bool = True
    """Accept a candidate only if it scores strictly higher; false accepts every one and records its score."""
    gate_metric: Literal["hard", "soft", "mixed"] = "hard"
    """Score the gate compares: solved tasks, partial credit, or `(1 - w) * hard + w * soft`."""
    gate_mixed_weight: Share = 0.5
    """The weight w of partial credit in the mixed metric."""
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
    confidence: Annotated[float, Field(ge=0.0, lt=1.0)] | None = None
    """On top of strictly higher: the exact one-sided sign test on the tasks that changed must have p <= 1 - this."""
    max_regressions: Count | None = None
    """On top of strictly higher: most tasks that the current skill solved and the candidate does not."""
    acceptance: FunctionName | None = None
    """A Python function that decides in place of the strict rule: `module:function` or `file.py:function`."""
    final_repeats: Count = 0
    """After the last step, measure the best skill in this many fresh passes; their mean is its reported score."""
    reselect: Count = 0
    """After the last step, choose the best skill among this many of the highest scored by a fresh measurement."""
    patience: Count = 0
    """Stop after this many steps in a row without an accepted candidate. 0 goes on to the last step."""

    @model_validator(mode="after")
    def _one_rule(self) -> Self:
        if self.acceptance is not None and (self.confidence is not None or self.max_regressions is not None):
            raise ValueError("acceptance decides alone; leave out confidence and max_regressions, or acceptance")
        for name in ("confidence", "max_regressions", "acceptance"):
            if not self.use_gate and getattr(self, name) is not None:
                raise ValueError(
                    f"use_gate is false, so every candidate is accepted; leave out {name}, or use the gate"
                )
        return self
