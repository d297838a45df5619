"""What the tests of this directory share: one finished run, read and never changed, and a browser of sorts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from starlette.testclient import TestClient
from tests.support.markup import Page, parsed
from tests.support.runs import write_run

from skillopt.api import train
from skillopt.dashboard.app import application

Visit: TypeAlias = Callable[..., TestClient]


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with two finished runs: `first/run`, and `second/run` with another seed."""
    directory = tmp_path_factory.mktemp("runs")
    for seed, name in enumerate(("first", "second")):
        asyncio.run(train(write_run(directory / name, settings={"train.seed": seed})))
    return directory


@pytest.fixture(scope="session")
def pages(runs: Path) -> TestClient:
    """The live page over both runs, opened once: for tests that ask a hundred things of it."""
    return open_site(runs)


@pytest.fixture(scope="session")
def browser(eventful: Path) -> TestClient:
    """The live page over the run in which much happens, under the id `run`."""
    return open_site(eventful.parent)


def page_of(browser: TestClient, address: str) -> Page:
    """Return a page that is there."""
    answer = browser.get(address)
    assert answer.status_code == 200, answer.text
    return parsed(answer.text)


def open_site(directory: Path, **options: Any) -> TestClient:
    """Open the live page over a directory, as a browser on this machine would."""
    return TestClient(
        application(directory, **options), base_url="http://127.0.0.1:8000", raise_server_exceptions=False
    )


@pytest.fixture
def visit() -> Visit:
    """Opens the live page over a directory."""
    return open_site
