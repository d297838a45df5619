"""The live page is measured over real runs of the size that is asked for, and they are afterwards as they were."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks.dashboard.building import Shape, build_runs
from benchmarks.dashboard.live import updates
from benchmarks.dashboard.report import OF_LARGE, OF_MANY, compare
from tests.support.runs import contents

SHAPE = Shape(tasks=32, batch=8, steps=8)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs."""
    place = tmp_path_factory.mktemp("benchmark") / "runs"
    build_runs(place, SHAPE, copies=2)
    return place


def test_runs_have_the_size_that_is_asked_for(runs: Path) -> None:
    assert sorted(run.name for run in runs.iterdir()) == ["run-000", "run-001"]
    for run in runs.iterdir():
        rows = [json.loads(path.read_text("utf-8")) for path in run.glob("steps/*/*/results.json")]
        assert len(list(run.glob("steps/*"))) == SHAPE.steps
        # A step whose batch is solved, or that proposes nothing new, has no candidate to measure.
        assert SHAPE.rollouts / 2 < sum(map(len, rows)) <= SHAPE.rollouts
    logs = [run / "events.jsonl" for run in runs.iterdir()]
    assert not logs[0].samefile(logs[1]), "what is appended to one is not appended to the other"


async def test_every_page_has_its_line(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = [*OF_MANY, *(page for page in OF_LARGE if page not in OF_MANY)]
    await compare("twice the same", pages, runs, runs)
    said = capsys.readouterr().out
    assert [line.split(":")[0].strip() for line in said.splitlines() if line.startswith("  ")] == [
        *pages,
        "memory of the process",
    ]


async def test_an_event_reaches_a_page_and_the_run_is_as_it_was(runs: Path) -> None:
    before = contents(runs)
    assert await updates(runs) > 0
    assert contents(runs) == before
