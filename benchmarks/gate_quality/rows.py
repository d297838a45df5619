"""The rules and knobs that are compared: named sets of configuration overrides. A new one is a new line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Overrides = Mapping[str, Any]

BASE = "published"
"""The row that every other one is compared with."""

PUBLISHED: Overrides = {
    "preset": "published",
    "train.batch_size": 40,
    "gradient.minibatch_size": 8,
    "evaluation.eval_test": False,
}
"""The published hyperparameters, without the final test, which decides nothing; every row is laid over them."""


def _constant(budget: int, **more: Any) -> Overrides:
    """A constant budget; further settings with `__` for the dot between section and key."""
    given = {name.replace("__", "."): value for name, value in more.items()}
    return {"optimizer.lr_scheduler": "constant", "optimizer.learning_rate": budget, **given}


WIDE: Overrides = _constant(8, optimizer__rejection_memory="run", train__sampling="unsolved", evaluation__vet=1)
"""What goes well together."""

PRESETS: Mapping[str, Overrides] = {name: {"preset": name} for name in ("standard", "fast", "careful")}
"""The other presets as they are."""

KNOBS: Mapping[str, Overrides] = {
    "confidence 0.75": {"evaluation.confidence": 0.75},
    "remeasure": {"evaluation.remeasure": True},
    "repeats 2": {"evaluation.repeats": 2},
    "max_regressions 0": {"evaluation.max_regressions": 0},
    "final_repeats 2": {"evaluation.final_repeats": 2},
    "reselect 3": {"evaluation.reselect": 3},
    "no gate": {"evaluation.use_gate": False},
    "patience 3": {"evaluation.patience": 3},
    "rejection memory: run": {"optimizer.rejection_memory": "run"},
    "rejection memory: off": {"optimizer.rejection_memory": "off"},
    "redraw 1": {"optimizer.redraw": 1},
    "redraw 3": {"optimizer.redraw": 3},
    "linear 4 to 2": {"optimizer.lr_scheduler": "linear"},
    "constant 4": _constant(4),
    "constant 8": _constant(8),
    "constant 16": _constant(16),
    "constant 8, memory: run": _constant(8, optimizer__rejection_memory="run"),
    "constant 8, memory: run, redraw 1": _constant(8, optimizer__rejection_memory="run", optimizer__redraw=1),
    "constant 8, memory: run, redraw 3": _constant(8, optimizer__rejection_memory="run", optimizer__redraw=3),
    "refresh 2": {"evaluation.refresh": 2},
    "gate_every 4": {"evaluation.gate_every": 4},
    "unsolved": {"train.sampling": "unsolved"},
    "vet 1": {"evaluation.vet": 1},
    "vet 2": {"evaluation.vet": 2},
    "A: constant 8, memory: run, unsolved, vet 1": WIDE,
    "A, gate_every 2": {**WIDE, "evaluation.gate_every": 2},
    "A, slow update off": {**WIDE, "optimizer.use_slow_update": False},
    "A, slow update off, 2 epochs": {**WIDE, "optimizer.use_slow_update": False, "train.num_epochs": 2},
    "A, final_repeats 4": {**WIDE, "evaluation.final_repeats": 4},
    "A, final_repeats 4, repeats 2": {**WIDE, "evaluation.final_repeats": 4, "evaluation.repeats": 2},
    "slow update off": {"optimizer.use_slow_update": False},
    "slow update forced": {"optimizer.slow_update_gate_with_selection": False},
    "meta skill off": {"optimizer.use_meta_skill": False},
}
"""One thing changed of the published setting, or some that go together."""

WHOLE = "A, redraw 1"
"""The row that the ablation takes things away from."""

ABLATION: Mapping[str, Overrides] = {
    name: {**WIDE, "optimizer.redraw": 1, **taken}
    for name, taken in {
        WHOLE: {},
        "without slow update": {"optimizer.use_slow_update": False},
        "without meta skill": {"optimizer.use_meta_skill": False},
        "without rejection memory and redraw": {"optimizer.rejection_memory": "off", "optimizer.redraw": 0},
        "without redraw": {"optimizer.redraw": 0},
        "without vetting": {"evaluation.vet": 0},
        "with all training tasks": {"train.sampling": "all"},
    }.items()
}
"""What each part of the method adds: one thing taken away."""

ROWS: Mapping[str, Overrides] = {BASE: {}, **PRESETS, **KNOBS}
"""All rows of the tables."""

NULL_ROWS = (
    BASE, *PRESETS, "confidence 0.75", "remeasure", "repeats 2", "max_regressions 0", "final_repeats 2", "reselect 3",
    "no gate", "redraw 3", "constant 8", "A: constant 8, memory: run, unsolved, vet 1", "A, final_repeats 4",
    "A, final_repeats 4, repeats 2",
)  # fmt: skip
"""The rows that are worth a look where there is nothing to find."""
