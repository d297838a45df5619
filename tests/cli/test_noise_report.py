"""The noise of a selection split, as a person reads it and as a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.run.test_noise import one_pass, set_up
from tests.support.runs import read_json

from skillopt.cli.noise_report import show_noise, write_noise
from skillopt.run.noise import noise_report

NOISY = [one_pass(1, 0, 1, 0, 0, 1, 0, 0), one_pass(0, 1, 0, 0, 0, 1, 0, 0)]
QUIET = [one_pass(1, 0, 1, 0, 0, 1, 0, 0)] * 2


def shown(directory: Path, capsys: pytest.CaptureFixture[str], passes: Any, **settings: Any) -> str:
    setup = set_up(directory, **settings)
    show_noise(setup, noise_report(setup, passes), directory=directory)
    return capsys.readouterr().out


def test_noise_is_told_with_what_it_does_to_the_gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """F19: 3 of 8 tasks flip, and an edit that changes nothing is accepted nearly two times in five."""
    said = shown(tmp_path, capsys, NOISY, evaluation__confidence=0.75)
    assert "SIMULATED MODELS" in said
    assert "on 8 selection tasks, 2 passes (hard): 37.5 %, 25.0 %" in said
    assert "Noise floor: 3 of 8 tasks changed between passes, 37.5 % from one to the next" in said
    assert "with evaluation.confidence 0.75, at most" in said
    assert "8 tasks, 1 pass (as configured)" in said and "32 tasks, 1 pass" in said
    assert "evaluation.repeats" in said


def test_no_noise_is_no_proof_that_there_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = shown(tmp_path, capsys, QUIET)
    assert "0 of 8 tasks changed between passes; so few tasks do not rule out that 32.4 % of them would" in said
    assert "Smallest gain that the split can show: 12.5 points" in said
    assert "no sign that it would be accepted" in said


def test_tasks_that_were_left_out_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = shown(tmp_path, capsys, [one_pass(1, None), one_pass(1, 0)])
    assert "warning: 1 task left out, which not every pass measured" in said


def test_the_file_holds_the_numbers(tmp_path: Path) -> None:
    write_noise(tmp_path, noise_report(set_up(tmp_path), NOISY))
    written = read_json(tmp_path / "noise.json")
    assert (written["changed"], written["flip_rate"], written["accepted_with_confidence"]) == (3, 0.375, None)
    assert written["forecasts"][0].keys() == {
        "tasks", "repeats", "step", "smallest_gain", "accepted", "seeming_gain", "calls", "dollars",
    }  # fmt: skip
