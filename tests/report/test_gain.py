"""The rows of seed and best skill, and the tasks on which they differ."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.support.runs import SMALL, read_json, write_run

from skillopt.api import train
from skillopt.report.gain import best_rows, gained, seed_rows
from skillopt.report.run_files import RunFiles
from skillopt.text_files import write_json_atomically

NOISY = f"simulated:target?{urlencode({**SMALL.identity, 'noise': 0.3})}"


@pytest.mark.parametrize("passes", [0, 2])
def test_they_are_what_the_reported_scores_are_counted_from(tmp_path: Path, passes: int) -> None:
    """F40: the best skill is chosen anew after the last step, with and without fresh passes of it and the seed."""
    settings = {"model.target.name": NOISY, "evaluation.reselect": 4, "evaluation.final_repeats": passes}
    run = RunFiles(asyncio.run(train(write_run(tmp_path, settings=settings))).directory)
    assert run.summary is not None and run.summary["best_step"]
    for part, split in (("val", "selection"), ("test", "test")):
        for skill, rows in (("seed", seed_rows(run, part)), ("best", best_rows(run, part))):  # type: ignore[arg-type]
            assert sum(row.hard or 0 for row in rows) == run.summary[split][skill]["solved"]
        found = gained(run, part)  # type: ignore[arg-type]
        assert found is not None and len(found.fixed) + len(found.broken) + found.same == 8


def chosen(run: Path, tmp_path: Path, **summary: Any) -> RunFiles:
    copy = shutil.copytree(run, tmp_path / "copy")
    write_json_atomically(copy / "summary.json", {**read_json(copy / "summary.json"), **summary})
    return RunFiles(copy)


def test_a_best_skill_that_was_chosen_anew_is_known_by_its_text(eventful: Path, tmp_path: Path) -> None:
    """A slow update stands in the record of its epoch's last step, so the step's number alone would not tell."""
    run = chosen(eventful, tmp_path)
    records = read_json(run.directory / "history.json")
    slow = next(record for record in records if (record.get("slow_update") or {}).get("selection_n"))
    slow["slow_update"] |= {"candidate_gate_score": 0.5, "candidate_hash": "of the guidance"}
    write_json_atomically(run.directory / "history.json", records)
    last = {
        "best_step": slow["step"],
        "best_skill_hash": "of the guidance",
        "final": {"finalists": [{"step": 1, "gate_score": 0.5, "fresh_score": 0.5}]},
    }
    write_json_atomically(run.directory / "summary.json", {**read_json(run.directory / "summary.json"), **last})
    place = f"slow_update/epoch_{slow['epoch']:02d}"
    shutil.rmtree(run.directory / place / "selection_eval_again", ignore_errors=True)
    assert best_rows(RunFiles(run.directory), "val") == run.rollouts(f"{place}/selection_eval") != ()


def test_a_seed_that_stayed_the_best_gained_nothing(eventful: Path, tmp_path: Path) -> None:
    run = chosen(eventful, tmp_path, best_step=0)
    assert best_rows(run, "val") == seed_rows(run, "val") != ()
    assert gained(run, "val") is None and gained(run, "test") is None


def test_what_was_not_measured_gained_nothing(eventful: Path, tmp_path: Path) -> None:
    run = chosen(eventful, tmp_path)
    shutil.rmtree(run.directory / "test_eval_baseline")
    (run.directory / "history.json").unlink()
    assert gained(run, "test") is None and gained(run, "val") is None
