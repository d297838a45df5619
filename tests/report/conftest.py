"""What the tests of this directory share: one run in which much happens, read and never changed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.bench import open_bench
from tests.support.runs import EVENTFUL, write_run

from skillopt.api import train

__all__ = ["open_bench"]


@pytest.fixture(scope="session")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a training with a noisy target."""
    return asyncio.run(train(write_run(tmp_path_factory.mktemp("eventful"), settings=EVENTFUL))).directory
