"""The frozen values that travel between the stages of a training step.

They say what happened and hold no behaviour beyond keeping themselves consistent. JSON forms of them exist only in
`run/` (evidence, history) and `models/` (the wire).
"""

from skillopt.types.comparisons import Comparison, Pair, PairCategory, PairPolicy
from skillopt.types.decisions import Action, Decision, SignTest
from skillopt.types.edits import (
    Change,
    Consolidation,
    Copy,
    Discarded,
    Edit,
    EditOperation,
    EditOutcome,
    EditState,
    Note,
    Patch,
    Rewrite,
    RewriteOutcome,
    Vetting,
)
from skillopt.types.tasks import (
    Criterion,
    Failure,
    JsonValue,
    Message,
    Place,
    Role,
    Rollout,
    Score,
    SourceType,
    SplitName,
    Task,
    Trajectory,
    Usage,
)

__all__ = [
    "Action",
    "Change",
    "Comparison",
    "Consolidation",
    "Copy",
    "Criterion",
    "Decision",
    "Discarded",
    "Edit",
    "EditOperation",
    "EditOutcome",
    "EditState",
    "Failure",
    "JsonValue",
    "Message",
    "Note",
    "Pair",
    "PairCategory",
    "PairPolicy",
    "Patch",
    "Place",
    "Rewrite",
    "RewriteOutcome",
    "Role",
    "Rollout",
    "Score",
    "SignTest",
    "SourceType",
    "SplitName",
    "Task",
    "Trajectory",
    "Usage",
    "Vetting",
]
