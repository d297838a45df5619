"""`skillopt eval`: several skills on a split, side by side."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from tests.cli.conftest import Finished
from tests.support.commands import Command, at_server, write_tiny_run
from tests.support.runs import SMALL, read_json
from werkzeug import Request, Response

from skillopt.evaluation.statistics import paired_difference


def write_skills(directory: Path) -> tuple[Path, Path]:
    """Write a skill that says two of the world's rules and one that says another."""
    first, second = directory / "first.md", directory / "second.md"
    sentences = [rule.sentence for rule in SMALL.rules]
    first.write_text("# Skill\n\n" + "\n".join(sentences[:2]) + "\n", "utf-8")
    second.write_text("# Skill\n\n" + "\n".join(sentences[1:]) + "\n", "utf-8")
    return first, second


def solved(results: Path) -> dict[str, int]:
    return {row["id"]: row["hard"] for row in read_json(results)}


def test_skills_are_compared_task_by_task(command: Command, tmp_path: Path) -> None:
    """The numbers shown and written are those of the results, counted again here."""
    first, second = write_skills(tmp_path)
    config = write_tiny_run(tmp_path, env__limit=0)
    code, said, _ = command("eval", config, "--skill", first, "--skill", second, "--split", "all", "--out", "out")
    assert code == 0
    one, two = read_json(tmp_path / "out" / "eval_summary.json")
    assert [(row["skill"], row["split"], row["n_items"]) for row in (one, two)] == [
        (str(first), "all", 32),
        (str(second), "all", 32),
    ]
    before, after = (solved(tmp_path / "out" / row["results"]) for row in (one, two))
    assert list(before) == list(after) and len(before) == 32
    assert (one["solved"], two["solved"]) == (sum(before.values()), sum(after.values())) == (16, 24)
    better = sum(after[task] > before[task] for task in before)
    worse = sum(after[task] < before[task] for task in before)
    assert (better, worse) == (16, 8)
    against = two["against_first"]
    assert (against["tasks"], against["better"], against["worse"]) == (32, better, worse)
    known = paired_difference([Fraction(score) for score in before.values()], [Fraction(s) for s in after.values()])
    assert against["difference"] == float(known.difference) == 0.25
    assert against["interval_95"] == [known.interval.low, known.interval.high]
    assert against["two_sided_p"] == known.two_sided_p
    assert (
        f"2 second.md against 1 first.md: +25.0 points on 32 tasks (95 % interval {100 * known.interval.low:+.1f} to "
        f"{100 * known.interval.high:+.1f}); 16 better, 8 worse, sign test p = {known.two_sided_p:.3g} (two-sided)"
    ) in said.splitlines()
    assert "1 first.md    16/32 (50.0 %)" in said and "2 second.md   24/32 (75.0 %)" in said
    assert "unmeasured" not in said
    assert "only the test split is held out" in said


def test_categories_are_counted_apart(command: Command, tmp_path: Path) -> None:
    first, second = write_skills(tmp_path)
    config = write_tiny_run(tmp_path, env__limit=0)
    _, said, _ = command("eval", config, "--skill", first, "--skill", second, "--split", "train", "--out", "out")
    rows: dict[str, list[str]] = {}
    for line in said[said.index(" category") :].splitlines()[2:]:
        if not line.strip():
            break
        category, *cells = line.split()
        rows[category] = cells
    for column, row in enumerate(read_json(tmp_path / "out" / "eval_summary.json")):
        results = read_json(tmp_path / "out" / row["results"])
        for category, cells in rows.items():
            own = [result["hard"] for result in results if result["category"] == category]
            assert cells[column] == f"{sum(own)}/{len(own)}"
        assert {result["category"] for result in results} == set(rows)


def test_without_a_skill_the_seed_is_measured_on_the_test_split(command: Command, finished: Finished) -> None:
    code, said, _ = command("eval", finished.config, "--out", finished.directory)
    (row,) = read_json(finished.directory / "eval_summary.json")
    summary = read_json(finished.directory / "summary.json")
    assert code == 0
    assert (row["split"], row["hard"]) == ("test", summary["baseline_test_hard"])
    assert "seed_skill.md   0/8 (0.0 %)" in said


def test_what_the_run_measured_is_not_paid_again(command: Command, finished: Finished) -> None:
    best = finished.directory / "best_skill.md"
    code, said, _ = command("eval", finished.config, "--skill", best, "--out", finished.directory)
    (row,) = read_json(finished.directory / "eval_summary.json")
    assert code == 0
    assert row["hard"] == read_json(finished.directory / "summary.json")["test_hard"]
    assert "Paid now: 0 calls" in said


def test_what_is_measured_ahead_of_a_training_is_not_paid_again_by_it(command: Command, tmp_path: Path) -> None:
    """The third step of docs/first_experiment.md."""
    config = write_tiny_run(tmp_path)
    assert "Paid now: 4 calls" in command("eval", config, "--split", "val", "--out", "run")[1]
    code, said, _ = command("train", config)
    assert code == 0
    assert "  baseline 4/4  4 calls used, 0 paid now" in said


def test_a_second_skill_in_the_same_directory_makes_its_own_calls(command: Command, tmp_path: Path) -> None:
    """Evidence is kept by what was measured, never by the directory alone; asking for 2 tasks gives 2 rows."""
    first, second = write_skills(tmp_path)
    config = write_tiny_run(tmp_path, env__limit=0)
    for skill, paid in ((first, 2), (second, 2), (first, 0)):
        _, said, _ = command("eval", config, "evaluation.test_env_num=2", "--skill", skill, "--out", "out")
        (row,) = read_json(tmp_path / "out" / "eval_summary.json")
        assert row["n_items"] == len(read_json(tmp_path / "out" / row["results"])) == 2
        assert f"Paid now: {paid} calls" in said


@pytest.mark.parametrize(
    ("alias", "split", "count"),
    [("valid_seen", "val", 8), ("valid_unseen", "test", 8), ("TRAIN", "train", 16), (" all ", "all", 32)],
)
def test_a_split_has_several_names(command: Command, tmp_path: Path, alias: str, split: str, count: int) -> None:
    config = write_tiny_run(tmp_path, env__limit=0)
    assert command("eval", config, "--split", alias, "--out", "out")[0] == 0
    (row,) = read_json(tmp_path / "out" / "eval_summary.json")
    assert (row["split"], row["n_items"]) == (split, count)


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--split", "vall"], 2, "there is no split 'vall'\nDid you mean val?"),
        (["--skill", "nope.md"], 1, "skill file nope.md does not exist"),
        (["--skill", "."], 1, "is a directory and not a file"),
        (["--skill", "latin.md"], 1, "not UTF-8"),
        (["--out", "config.yaml"], 1, "config.yaml"),
    ],
)
def test_a_mistake_is_one_message_before_anything_is_paid(
    command: Command, tmp_path: Path, words: list[str], code: int, message: str
) -> None:
    """F98: a misspelt split is an error and never another split."""
    config = write_tiny_run(tmp_path)
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    result, said, error = command("eval", config, *words)
    assert (result, said) == (code, "")
    assert error.startswith("error: ") and message in error
    assert not (tmp_path / "outputs").exists()


def answer(request: Request) -> Response:
    """Answer every task but those of one kind, whose calls fail for now."""
    asked: Any = json.loads(request.get_data())
    if "Bay" in asked["messages"][-1]["content"]:
        return Response('{"error": "overloaded"}', 503)
    said = {"message": {"role": "assistant", "content": "no idea"}, "finish_reason": "stop"}
    return Response(json.dumps({"choices": [said], "usage": {"prompt_tokens": 1, "completion_tokens": 1}}))


def test_what_could_not_be_measured_is_told_and_is_no_zero(
    command: Command, tmp_path: Path, httpserver: HTTPServer
) -> None:
    """F1, F9: unmeasured tasks are in no mean and in no comparison; the exit code says that something is missing."""
    httpserver.expect_request("/v1/chat/completions").respond_with_handler(answer)
    first, second = write_skills(tmp_path)
    config = write_tiny_run(tmp_path, env__limit=0, **at_server(httpserver.url_for("/v1")))
    code, said, error = command("eval", config, "--skill", first, "--skill", second, "--split", "train", "--out", "o")
    assert code == 13
    one, two = read_json(tmp_path / "o" / "eval_summary.json")
    missing = [row for row in read_json(tmp_path / "o" / one["results"]) if row["status"] != "ok"]
    assert one["unmeasured"] == len(missing) > 0
    assert one["measured"] == two["against_first"]["tasks"] == 16 - len(missing)
    assert all("hard" not in row and row["failure"]["message"] for row in missing)
    assert f"0/{16 - len(missing)} (0.0 %)" in said and "unmeasured" in said
    assert f"{2 * len(missing)} unmeasured: error in target:" in error
    assert "overloaded" in error


def test_nothing_measured_is_no_comparison(command: Command, tmp_path: Path, httpserver: HTTPServer) -> None:
    """F9"""
    httpserver.expect_request("/v1/chat/completions").respond_with_data("", status=503)
    first, second = write_skills(tmp_path)
    config = write_tiny_run(tmp_path, **at_server(httpserver.url_for("/v1")))
    code, said, _ = command("eval", config, "--skill", first, "--skill", second, "--out", "o")
    assert code == 13
    assert read_json(tmp_path / "o" / "eval_summary.json")[1]["against_first"] is None
    assert "nothing measured" in said and "no task was measured with both" in said


def test_a_key_that_is_refused_ends_the_evaluation(command: Command, tmp_path: Path, httpserver: HTTPServer) -> None:
    """F4, F14: nothing is stored that could be taken for a result."""
    httpserver.expect_request("/v1/chat/completions").respond_with_json({"error": "bad key"}, status=401)
    config = write_tiny_run(tmp_path, **at_server(httpserver.url_for("/v1")))
    code, said, error = command("eval", config, "--out", "o")
    assert (code, said) == (13, "")
    assert "bad key" in error
    assert not (tmp_path / "o" / "eval_summary.json").exists()
