"""What the tests of this directory share: one run in which much happens, read and never changed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.support.bench import open_bench
from tests.support.runs import SMALL, write_run

from skillopt.api import train

__all__ = ["open_bench"]

EVENTFUL: dict[str, Any] = {
    "model.target.name": f"simulated:target?{urlencode({**SMALL.identity, 'noise': 0.2})}",
    "train.num_epochs": 4,
    "train.batch_size": 8,
    "optimizer.redraw": 1,
    "optimizer.slow_update_gate_with_selection": True,
    "evaluation.refresh": 1,
    "evaluation.remeasure": True,
    "evaluation.repeats": 2,
    "evaluation.vet": 2,
    "skill.max_tokens": 4000,
}
"""Redraws, fresh passes, second measurements, slow updates that the gate takes and refuses."""


@pytest.fixture(scope="session")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a training with a noisy target."""
    return asyncio.run(train(write_run(tmp_path_factory.mktemp("eventful"), settings=EVENTFUL))).directory
