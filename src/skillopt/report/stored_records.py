"""What views rely on in history.json, summary.json, run_card.json and split_manifest.json; checked as they are read.

All of them are files that people may edit, and the event log carries the first two as well. What was checked is handed
on as it stands. Fields that no view reads are not looked at, so that a page can be made of what a later version wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, TypeAlias, cast

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)

from skillopt.report.course import Record

GREATEST: Final = 10**15
"""No count of a run is beyond it, and every number below is one that can be reckoned with."""

Count: TypeAlias = Annotated[int, Field(ge=0, le=GREATEST)]
Positive: TypeAlias = Annotated[int, Field(ge=1, le=GREATEST)]
Number: TypeAlias = Annotated[float, Field(ge=-GREATEST, le=GREATEST)]


class Shape(BaseModel):
    """Base of all of them."""

    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class _Usage(Shape):
    calls: Count
    fresh_tokens: Count
    cached_tokens: Count
    output_tokens: Count
    dollars: Number | None


class _Roles(Shape):
    target: _Usage
    optimizer: _Usage


class _Passes(Shape):
    n: Positive
    mean: Number
    spread: Number | None


class _Rewrite(Shape):
    status: str


class _SignTest(Shape):
    better: Count
    worse: Count
    p_value: Number


class _Told(Shape):
    action: str
    reason: str


class _Judged(_Told):
    candidate_gate_score: Number | None = None
    candidate_gate_score_upper_bound: Number | None = None


class _Baseline(Shape):
    step: Count
    epoch: Count
    action: str
    reason: str
    train_acc: Number | None
    val_acc: Number | None
    val_soft: Number | None
    val_solved: Count
    val_n: Positive
    gate_metric: str
    current_score: Number
    current_origin: str
    best_score: Number
    best_solved: Count
    best_n: Count | None = None
    best_step: Count
    best_origin: str
    val_passes: _Passes
    skill_tokens: Count
    total_usage: _Roles
    slow_update: _Judged | None = None
    meta_skill: _Told | None = None


class _Step(_Baseline):
    candidate_gate_score: Number | None
    candidate_gate_score_upper_bound: Number | None
    selection_soft: Number | None
    selection_solved: Count
    selection_n: Count
    selection_unmeasured: Count
    sign_test: _SignTest | None
    lost_by: Number | None
    rollout_n: Count
    rollout_solved: Count
    rollout_unmeasured: Count
    train_known_acc: Number | None
    train_known_solved: Count
    train_known_n: Count
    edit_budget: Count | None
    lr_decision: dict[str, Any] | None = None
    rewrites: list[_Rewrite] | None = None
    gated_steps: list[Count] | None = None
    redraws: list[_Judged] | None = None
    n_patches: Count
    n_failure_patches: Count
    n_success_patches: Count
    n_edits_proposed: Count
    n_edits_merged: Count
    n_edits_ranked: Count
    edits: dict[str, Count]
    counters: dict[str, Count] = Field(default_factory=dict)


class _Scores(Shape):
    hard: Number | None
    unmeasured: Count
    shown: str


class _Pair(Shape):
    seed: _Scores | None
    best: _Scores | None


class _Measured(Shape):
    hard: Number
    unmeasured: Count
    shown: str


class _MeasuredPair(Shape):
    seed: _Measured
    best: _Measured


class _Finalist(Shape):
    step: Count
    origin: str | None = None
    gate_score: Number
    fresh_score: Number


class _Final(Shape):
    passes: _Passes | None = None
    seed_passes: _Passes | None = None
    finalists: list[_Finalist] | None = None


class _Early(Shape):
    state: str
    message: str
    simulated: bool | None = None


class _Summary(_Early):
    selection: _MeasuredPair
    selection_delta_hard: Number
    final: _Final | None
    test: _Pair
    test_delta_hard: Number | None
    test_delta_tasks: Count
    baseline_gate_score: Number
    best_gate_score: Number
    best_gate_solved: Count | None = None
    best_gate_n: Count | None = None
    best_step: Count
    best_origin: str | None = None
    best_skill_hash: str
    total_steps: Count
    usage: dict[str, _Usage]
    total_usage: _Roles


class _Card(Shape):
    simulated: bool | None = None


class _Split(Shape):
    digest: str
    ids: list[str]


class _Manifest(Shape):
    splits: dict[str, _Split]


def _as_it_stands(value: Any, check: ValidatorFunctionWrapHandler) -> Any:
    check(value)
    return value


def _kind_of_record(value: object) -> str:
    return "baseline" if isinstance(value, Mapping) and not value.get("step") else "step"  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def _kind_of_summary(value: object) -> str:
    """An early summary has nothing of what only a whole one has: views show of each what is there."""
    own = _Summary.model_fields.keys() - _Early.model_fields.keys()
    return "whole" if isinstance(value, Mapping) and any(name in value for name in own) else "early"


_OneRecord: TypeAlias = Annotated[
    Annotated[_Baseline, Tag("baseline")] | Annotated[_Step, Tag("step")],
    Discriminator(_kind_of_record),
    WrapValidator(_as_it_stands),
]
_OneSummary: TypeAlias = Annotated[
    Annotated[_Early, Tag("early")] | Annotated[_Summary, Tag("whole")],
    Discriminator(_kind_of_summary),
    WrapValidator(_as_it_stands),
]

_OneCard: TypeAlias = Annotated[_Card, WrapValidator(_as_it_stands)]
_OneManifest: TypeAlias = Annotated[_Manifest, WrapValidator(_as_it_stands)]

# What comes out of the check is what went in.
RECORD: Final = cast("TypeAdapter[Record]", TypeAdapter(_OneRecord))
"""A record of history.json."""
RECORDS: Final = cast("TypeAdapter[tuple[Record, ...]]", TypeAdapter(tuple[_OneRecord, ...]))
"""What history.json holds."""
SUMMARY: Final = cast("TypeAdapter[Record]", TypeAdapter(_OneSummary))
"""What summary.json holds."""
CARD: Final = cast("TypeAdapter[Record]", TypeAdapter(_OneCard))
"""What run_card.json holds."""
MANIFEST: Final = cast("TypeAdapter[Record]", TypeAdapter(_OneManifest))
"""What split_manifest.json holds."""


def fits(value: Record, shape: TypeAdapter[Record]) -> bool:
    """Whether all that is there can be relied on; what is missing is said by who needs it."""
    try:
        shape.validate_python(value)
    except ValidationError as error:
        return all(one["type"] == "missing" for one in error.errors(include_url=False, include_input=False))
    return True
