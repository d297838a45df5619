"""One run in which much happens, read and never changed by the tests of all that shows a run."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.runs import EVENTFUL, write_run

from skillopt.api import train


@pytest.fixture(scope="session")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a training with a noisy target."""
    return asyncio.run(train(write_run(tmp_path_factory.mktemp("eventful"), settings=EVENTFUL))).directory
