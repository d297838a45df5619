"""What an evaluation shows; `test_evaluate.py` has it with the command around it."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from tests.support.runs import read_json
from tests.support.values import rollout, task

from skillopt.api import Evaluation
from skillopt.cli.comparison import Counting, labels, show_evaluation, shown_difference, write_evaluation
from skillopt.evaluation.statistics import paired_difference
from skillopt.models.meter import Spending
from skillopt.types import Failure, Place, Rollout, Usage


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["a/b/best_skill.md"], ["best_skill.md"]),
        (["seed.md", "runs/a/best.md"], ["1 seed.md", "2 best.md"]),
        (["runs/a/best.md", "runs/b/best.md"], ["1 a/best.md", "2 b/best.md"]),
        (["best.md", "runs/b/best.md"], ["1 best.md", "2 b/best.md"]),
        (["x.md", "x.md"], ["1 x.md", "2 x.md"]),
        (["(empty skill)"], ["(empty skill)"]),
        (["a\x1b[2J.md"], ["a�[2J.md"]),
    ],
)
def test_a_label_is_the_end_of_a_path_that_tells_it_apart(names: list[str], expected: list[str]) -> None:
    assert list(labels(names)) == expected


def test_a_long_label_loses_its_middle() -> None:
    (label,) = labels(["x" * 30 + "_the_end_of_a_long_name.md"])
    assert len(label) == 36
    assert label.startswith("xxx") and label.endswith("of_a_long_name.md") and "..." in label


def test_a_difference_is_told_with_its_interval_and_test() -> None:
    """10 better and 1 worse of 20: the exact two-sided test gives 2 * 12 / 2048."""
    first = [Fraction(0)] * 10 + [Fraction(1)] * 10
    second = [Fraction(1)] * 19 + [Fraction(0)]
    told = shown_difference(paired_difference(first, second))
    assert told.startswith("+45.0 points on 20 tasks (95 % interval +")
    assert told.endswith("; 10 better, 1 worse, sign test p = 0.0117 (two-sided)")


def evaluation(*columns: list[Rollout]) -> Evaluation:
    spent = Spending(Usage(calls=4, fresh_tokens=1200, output_tokens=34), None)
    return Evaluation(tuple(map(tuple, columns)), (None,) * (len(columns) - 1), spent)


def failed(number: int, message: str) -> Rollout:
    return Rollout(task(number), "digest", failure=Failure("error", "target", "TransientModelError", message))


def test_reasons_are_told_with_their_counts_most_frequent_first(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rollouts = [rollout(0, 1), failed(1, "down"), failed(2, "down\x1b[2J"), failed(3, "down")]
    rollouts += [failed(number, f"reason {number}") for number in range(4, 10)]
    show_evaluation(["a.md"], "test", evaluation(rollouts), directory=tmp_path, simulated_models=False)
    said = capsys.readouterr()
    assert "a.md    1/1 (100.0 %)" in said.out and "SIMULATED" not in said.out
    assert said.err.splitlines()[0] == "2 unmeasured: error in target: down"
    assert said.err.splitlines()[-1] == "and 3 more reasons, in the results"
    assert "\x1b" not in said.err
    assert "Paid now: 4 calls, 1,234 tokens, price unknown" in said.out


def test_progress_in_a_log_is_a_tenth_at_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    counting = Counting(25)
    for number in range(25):
        counting(Place("eval"), "", rollout(number), recorded=False)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 10
    assert lines[-1] == "25/25 tasks"


def test_two_evaluations_of_no_tasks_have_files_of_their_own(tmp_path: Path) -> None:
    write_evaluation(tmp_path, "test", ["a.md", "b.md"], evaluation([], []))
    rows = read_json(tmp_path / "eval_summary.json")
    assert len({row["results"] for row in rows}) == 2
