"""The picture that a training ends with."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillopt.events import EpochStageCommitted, Event, RunEnded, RunStarted, StepCommitted
from skillopt.report.illustrator import Illustrator
from skillopt.report.picture import PICTURE_NAME, draw, ending
from skillopt.report.run_files import RunFiles

STARTED = RunStarted("run", 8, 4, {}, {}, simulated=True)


def told(run: Path, *, again: bool = False) -> list[Event]:
    """What a run tells those who watch; with `again` a start before it that got as far as the baseline."""
    files = RunFiles(run)
    assert files.summary is not None
    events: list[Event] = [STARTED, StepCommitted({"step": 77})] if again else []
    events.append(STARTED)
    for record in files.records:
        first = {name: value for name, value in record.items() if name not in ("slow_update", "meta_skill")}
        events.append(StepCommitted(first))
        events += [EpochStageCommitted(name, record["epoch"], record) for name in record.keys() - first.keys()]
    return [*events, RunEnded(files.summary["state"], "", files.summary)]


@pytest.mark.parametrize("again", [False, True])
def test_the_picture_is_that_of_the_records(eventful: Path, tmp_path: Path, again: bool) -> None:
    directory = tmp_path / eventful.name
    directory.mkdir()
    illustrator = Illustrator(directory)
    for event in told(eventful, again=again):
        illustrator(event)
    files = RunFiles(eventful)
    expected = draw(files.course, ending(files.course, files.summary), simulated=True)
    assert (directory / PICTURE_NAME).read_bytes() == expected
    assert (illustrator.picture, illustrator.problem) == (directory / PICTURE_NAME, "")


def test_a_run_that_ended_before_its_baseline_has_no_picture(tmp_path: Path) -> None:
    illustrator = Illustrator(tmp_path)
    for event in (STARTED, RunEnded("provider_failed", "", {"state": "provider_failed"})):
        illustrator(event)
    assert list(tmp_path.iterdir()) == []
    assert (illustrator.picture, illustrator.problem) == (None, "")


def test_what_cannot_be_drawn_is_a_problem_and_no_error_and_leaves_no_older_picture(tmp_path: Path) -> None:
    (tmp_path / PICTURE_NAME).write_bytes(b"of an earlier start")
    illustrator = Illustrator(tmp_path)
    for event in (STARTED, StepCommitted({"step": 0}), RunEnded("improved", "", {"state": "improved"})):
        illustrator(event)
    assert illustrator.picture is None
    assert illustrator.problem.startswith(f"{PICTURE_NAME} could not be drawn: KeyError")
    assert not (tmp_path / PICTURE_NAME).exists()
