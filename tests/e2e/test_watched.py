"""A run that is watched in every way at once is the run that nobody looked at."""

from __future__ import annotations

from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.support.runs import views, write_run

from skillopt.api import train
from skillopt.dashboard.app import application
from skillopt.events import Event, StepCommitted

pytestmark = pytest.mark.filterwarnings("ignore")  # What the trackers' libraries warn of.

OF_WATCHERS = ("training_dashboard.png", "tensorboard/")
"""What watchers leave in it."""

PAGES = ("", "/steps/1", "/tasks", "/skills", "/spending", "/calls", "/files/history.json")


async def test_who_watches_a_run_changes_no_byte_of_it(tmp_path: Path) -> None:
    """Pages, picture and trackers only look, be it while the run goes on."""
    config, alone, watched = write_run(tmp_path), tmp_path / "alone", tmp_path / "watched"
    site = TestClient(application(tmp_path), base_url="http://127.0.0.1:8000")
    looked: list[int] = []

    def look(event: Event) -> None:
        if isinstance(event, StepCommitted):
            looked.extend(site.get(f"/runs/watched{page}").status_code for page in PAGES)

    await train(config, [f"env.out_root={alone}"])
    watching = ["report.picture=true", "trackers.tensorboard={}"]
    await train(config, [f"env.out_root={watched}", *watching], subscribers=[look])
    assert looked.count(200) > len(looked) / 2, looked
    left = views(watched)
    assert "training_dashboard.png" in left and (watched / "trackers.json").is_file(), "they did look"
    assert {name: value for name, value in left.items() if not name.startswith(OF_WATCHERS)} == views(alone)
