"""What a gain is worth in words: by the held-out tasks, and by the diagnosis's rule for what chance explains."""

from __future__ import annotations

import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.runs import read_json

from skillopt.evaluation.statistics import paired_difference
from skillopt.report.diagnosis import RARE
from skillopt.report.run_files import RunFiles
from skillopt.report.worth import judged, worth
from skillopt.text_files import write_json_atomically


def difference(better: int, worse: int, same: int = 0) -> Any:
    first = [Fraction(0)] * better + [Fraction(1)] * (worse + same)
    second = [Fraction(1)] * better + [Fraction(0)] * worse + [Fraction(1)] * same
    return paired_difference(first, second)


@pytest.mark.parametrize(
    ("better", "worse", "kind"),
    [(5, 0, "shown"), (4, 0, "unsure"), (8, 5, "unsure"), (5, 5, "no gain"), (0, 3, "no gain"), (40, 20, "shown")],
)
def test_the_held_out_tasks_say_whether_a_gain_is_more_than_chance(better: int, worse: int, kind: str) -> None:
    assert judged(difference(better, worse, same=6)).kind == kind


@given(better=st.integers(0, 40), worse=st.integers(0, 40), same=st.integers(1, 20))
def test_no_gain_is_shown_that_chance_explains(better: int, worse: int, same: int) -> None:
    found, known = judged(difference(better, worse, same)), difference(better, worse, same)
    assert (found.kind == "no gain") == (better <= worse)
    assert (found.kind == "shown") == (better > worse and known.sign_test.p_value <= RARE)
    assert f"better on {better}, worse on {worse}" in found.numbers
    assert f"{100 * known.interval.low:+.1f} to {100 * known.interval.high:+.1f}" in found.numbers


@pytest.mark.parametrize(("better", "worse", "brief"), [(5, 1, "+40.0 points, chance may do that"),
    (5, 0, "+50.0 points, more than chance"), (2, 4, "-20.0 points, not better")])  # fmt: skip
def test_a_gain_has_a_few_words_for_a_table(better: int, worse: int, brief: str) -> None:
    assert judged(difference(better, worse, same=10 - better - worse)).brief == brief


def test_a_chance_that_is_next_to_none_is_no_number_to_be_puzzled_over() -> None:
    assert judged(difference(30, 0)).numbers.endswith("chance alone does that with p < 0.0001.")
    assert judged(difference(6, 0)).numbers.endswith("chance alone does that with p = 0.016.")


def with_summary(run: Path, tmp_path: Path, **changes: Any) -> RunFiles:
    copy = shutil.copytree(run, tmp_path / "run")
    write_json_atomically(copy / "summary.json", {**read_json(copy / "summary.json"), **changes})
    return RunFiles(copy)


def test_a_run_is_judged_by_what_its_skills_did_on_the_test_split(eventful: Path) -> None:
    run = RunFiles(eventful)
    found = worth(run)
    assert run.summary is not None and run.held_out is not None and found is not None
    assert float(run.held_out.difference) == pytest.approx(run.summary["test_delta_hard"])
    assert found == judged(run.held_out)
    assert f"{100 * run.summary['test_delta_hard']:+.1f} points on {run.summary['test_delta_tasks']}" in found.numbers


def test_the_selection_split_alone_is_no_proof(eventful: Path, tmp_path: Path) -> None:
    run = with_summary(eventful, tmp_path)
    for name in ("test_eval", "test_eval_baseline"):
        shutil.rmtree(run.directory / name)
    found = worth(RunFiles(run.directory))
    assert found is not None and (found.kind, found.numbers) == ("not held out", "")


def test_a_seed_that_stayed_the_best_has_no_gain_to_judge(eventful: Path, tmp_path: Path) -> None:
    found = worth(with_summary(eventful, tmp_path, best_step=0))
    assert found is not None and found.kind == "the seed"


def test_a_run_without_an_end_is_not_judged(eventful: Path, tmp_path: Path) -> None:
    run = with_summary(eventful, tmp_path)
    (run.directory / "summary.json").unlink()
    assert worth(RunFiles(run.directory)) is None
