"""What the tests in the browser share: pages that are watched, and a run in which much happens."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.support.bench import open_bench
from tests.support.browser import browser, open_page
from tests.support.runs import EVENTFUL, write_run

from skillopt.api import train

__all__ = ["browser", "open_bench", "open_page"]


@pytest.fixture(scope="session")
def eventful(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a training with a noisy target, read and never changed."""
    return asyncio.run(train(write_run(tmp_path_factory.mktemp("eventful"), settings=EVENTFUL))).directory
