"""What the tests of the real trackers share."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.tracked import keep_apart


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run directory; what the libraries write elsewhere is kept apart."""
    keep_apart(monkeypatch, tmp_path / "elsewhere")
    directory = tmp_path / "run"
    directory.mkdir()
    return directory
