"""A run in a row of the list: read in a moment, whatever the length of its log."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from tests.dashboard.test_following import write
from tests.support.records import committed, spent, started

from skillopt.dashboard.catalogue import Catalogue
from skillopt.dashboard.following import Followers
from skillopt.dashboard.glances import Glance, Glances, Shares
from skillopt.events import RunEnded
from skillopt.run.lock import locked


def look(run: Path) -> Glance:
    found = Catalogue(run.parent).find(run.name)
    assert found is not None
    return Glances(Followers()).look(found)


def test_an_ended_run_says_what_its_summary_says(runs: Path) -> None:
    summary = json.loads((runs / "first/run/summary.json").read_text("utf-8"))
    found = look(runs / "first/run")
    assert (found.state, found.at_work, found.simulated) == (summary["state"], False, True)
    assert found.step == summary["total_steps"]
    assert found.total_steps == 8
    assert found.selection == Shares(
        summary["selection"]["seed"]["shown"], summary["selection"]["best"]["shown"], summary["selection_delta_hard"]
    )
    assert found.held_out is not None
    assert found.gain == summary["test_delta_hard"] == found.held_out.gain
    assert found.dollars == sum(one["dollars"] for one in summary["total_usage"].values())
    assert found.at > 0


def test_the_best_skill_is_counted_from_the_passes_it_was_measured_in(tmp_path: Path) -> None:
    """F93: 82 of 90, and never 82 of the 30 that the current skill has."""
    best = {"best_solved": 82, "best_n": 90, "best_score": 82 / 90, "val_solved": 27, "val_n": 30}
    entry = write(tmp_path / "run", started(), committed(0), committed(1, **best))
    assert Glances(Followers()).look(entry).selection == Shares("3/8 (37.5 %)", "82/90 (91.1 %)", 82 / 90 - 3 / 8)


def test_of_the_seed_alone_there_is_no_gain(tmp_path: Path) -> None:
    found = Glances(Followers()).look(write(tmp_path / "run", started(), committed(0)))
    assert found.selection is not None and found.gain is None


def test_of_an_ended_run_the_whole_log_is_not_read(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise AssertionError("it was followed")

    monkeypatch.setattr(Followers, "look", fails)
    assert look(runs / "first/run").state


@pytest.mark.parametrize("ended", [False, True])
def test_a_log_that_is_the_same_is_not_read_again_however_many_runs_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, ended: bool
) -> None:
    end = [RunEnded("interrupted", "", {})] if ended else []
    entry = write(tmp_path / "run", started(), committed(0), spent(5, 5), committed(1), *end)
    glances = Glances(Followers())
    first = glances.look(entry)

    def fails(*_: object, **__: object) -> None:
        raise AssertionError("it was read")

    with monkeypatch.context() as nothing:
        nothing.setattr(Followers, "look", fails)
        nothing.setattr("skillopt.dashboard.glances.read_events", fails)
        assert glances.look(entry) == first
        with locked(tmp_path / "run", command="train"):
            assert glances.look(entry).at_work is not ended
    write(tmp_path / "run", started(), committed(0), committed(2))
    assert glances.look(entry).step == 2


def test_a_run_at_work_says_how_far_it_is(tmp_path: Path) -> None:
    write(tmp_path / "run", started(), committed(0), spent(5, 5), committed(1))
    with locked(tmp_path / "run", command="train"):
        found = look(tmp_path / "run")
    assert (found.state, found.at_work, found.step, found.total_steps) == ("running", True, 1, 10)
    assert found.selection is not None
    assert found.dollars == 0.75


def test_a_count_reads_alike_before_and_after_the_end_of_its_run(runs: Path, tmp_path: Path) -> None:
    shutil.copytree(runs / "first/run", tmp_path / "run")
    ended = look(tmp_path / "run")
    log = tmp_path / "run/events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))
    going_on = look(tmp_path / "run")
    assert ended.selection is not None
    assert going_on.selection == ended.selection


def test_tasks_that_were_not_measured_stand_beside_the_count(runs: Path, tmp_path: Path) -> None:
    """F1"""
    summary = json.loads((runs / "first/run/summary.json").read_text("utf-8"))
    summary["test"]["best"] |= {"shown": "3/4 (75.0 %)", "unmeasured": 4}
    write(tmp_path / "run", started(), RunEnded("improved", "", summary))
    found = look(tmp_path / "run")
    assert found.held_out is not None
    assert found.held_out.best == "3/4 (75.0 %), 4 unmeasured"


@pytest.mark.parametrize(("state", "gain", "doubted"), [("improved", 0.0, True), ("improved", -0.1, True),
    ("improved", 0.1, False), ("improved", None, False), ("all_rejected", 0.0, False)])  # fmt: skip
def test_a_gain_that_the_held_out_tasks_do_not_show_is_doubted(
    runs: Path, *, state: str, gain: float | None, doubted: bool
) -> None:
    held_out = Shares("4/8", "4/8", gain)
    assert replace(look(runs / "first/run"), state=state, held_out=held_out).doubted == doubted


def test_an_unknown_price_is_no_zero(tmp_path: Path) -> None:
    """F11"""
    write(tmp_path / "run", started(), spent(5, 5, dollars=None))
    assert look(tmp_path / "run").dollars is None


@pytest.mark.parametrize("log", [b"", b"\n", b"no JSON\n", b"\xff\xfe\n\n\n", b'{"version": 1}\n', b"half a line"])
def test_a_log_of_anything_is_a_row(tmp_path: Path, log: bytes) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run/events.jsonl").write_bytes(log)
    assert look(tmp_path / "run").state == "broken off"


def test_a_damaged_run_says_why_and_hides_no_other(tmp_path: Path) -> None:
    write(tmp_path / "good", started(), committed(0))
    event = committed(0)
    write(tmp_path / "bad", type(event)({key: value for key, value in event.record.items() if key != "val_n"}))
    glances, catalogue = Glances(Followers()), Catalogue(tmp_path)
    bad, good = (glances.look(entry) for entry in catalogue.runs())
    assert (bad.state, good.state) == ("damaged", "broken off")
    assert "val_n" in bad.trouble


def test_an_end_with_a_summary_of_anything_is_a_row(tmp_path: Path) -> None:
    for number, summary in enumerate(
        (
            {"selection": 5},
            {"selection": {"seed": 1}},
            {"total_usage": {"target": {}}},
            {"test": {"seed": {"x": 1}, "best": {"y": 1}}},
            {"total_steps": float("inf")},
            {"selection": {"seed": None, "best": None}, "test_delta_hard": "more"},
        )
    ):
        write(tmp_path / f"run{number}", RunEnded("improved", "", summary))
        assert look(tmp_path / f"run{number}").state == "damaged"
    write(tmp_path / "early", RunEnded("provider_failed", "no", {"state": "provider_failed"}))
    assert look(tmp_path / "early").state == "provider_failed"


def test_a_new_end_is_seen(tmp_path: Path) -> None:
    entry = write(tmp_path / "run", started(), RunEnded("interrupted", "", {}))
    glances = Glances(Followers())
    assert glances.look(entry).state == "interrupted"
    write(tmp_path / "run", started(), RunEnded("improved", "", {}))
    assert glances.look(entry).state == "improved"
