"""The end of a training as it is shown, compared with what the run directory holds."""

from __future__ import annotations

import difflib
import re
import shlex
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Finished
from tests.support.commands import Command, write_tiny_run
from tests.support.runs import read_json

from skillopt.cli.closing import show_outcome
from skillopt.cli.main import run
from skillopt.evaluation.statistics import paired_difference
from skillopt.report.worth import judged
from skillopt.run.outcome import EndState, Outcome
from skillopt.skill.document import Skill


def hard(directory: Path) -> list[Fraction]:
    return [Fraction(row["hard"]) for row in read_json(directory / "results.json")]


def test_the_scores_are_those_of_the_run(finished: Finished) -> None:
    said, directory = finished.said[1], finished.directory
    summary = read_json(directory / "summary.json")
    for split, title in (("selection", "selection split"), ("test", "test split (held out)")):
        seed, best = summary[split]["seed"], summary[split]["best"]
        cells = [title, seed["shown"], best["shown"], f"{100 * (best['hard'] - seed['hard']):+.1f} points"]
        assert re.search(" +".join(re.escape(cell) for cell in cells), said)


def test_the_held_out_difference_is_tested_on_the_tasks_of_the_results(finished: Finished) -> None:
    seed, best = (hard(finished.directory / name) for name in ("test_eval_baseline", "test_eval"))
    known = paired_difference(seed, best)
    assert known.difference > 0
    assert (
        f"Held out, best skill against seed skill: {100 * float(known.difference):+.1f} points on {len(seed)} tasks "
        f"(95 % interval {100 * known.interval.low:+.1f} to {100 * known.interval.high:+.1f}); "
        f"{known.sign_test.better} better, {known.sign_test.worse} worse, "
        f"sign test p = {known.two_sided_p:.3g} (two-sided)\n{judged(known).headline}"
    ) in finished.said[1]


def test_the_diff_of_the_skill_is_shown_whole(finished: Finished) -> None:
    seed, best = (
        (finished.directory / name).read_text("utf-8").splitlines()
        for name in ("skills/skill_v0000.md", "best_skill.md")
    )
    shown = finished.said[1].splitlines()
    start = shown.index("--- seed skill")
    diff = list(difflib.unified_diff(seed, best, "seed skill", "best skill", lineterm=""))
    assert shown[start : start + len(diff)] == diff


def test_the_picture_and_the_way_to_the_page_are_named(command: Command, tmp_path: Path) -> None:
    config = write_tiny_run(tmp_path / "a run", report__picture=True)
    code, said, _ = command("train", config)
    assert code in (0, 10, 11, 12)
    lines, run = said.splitlines(), Path("a run/run")  # the commands are called where that is
    assert f"Picture:         {run / 'training_dashboard.png'}" in lines
    assert f"  {shlex.join(['skillopt', 'report', str(run)])}" in lines
    assert f"  {shlex.join(['skillopt', 'dashboard', str(run.parent)])}" in lines
    assert command("report", run)[0] == 0


def test_whoever_is_where_the_run_is_reads_short_paths(
    finished: Finished, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(finished.directory.parent)
    summary = read_json(finished.directory / "summary.json")
    best = Skill.parse((finished.directory / "best_skill.md").read_text("utf-8"))
    show_outcome(Outcome(EndState(summary["state"]), "", finished.directory, best, summary))
    said = capsys.readouterr().out
    assert "Best skill:      run/best_skill.md\n" in said and "  skillopt dashboard .\n" in said
    assert str(finished.directory) not in said


def test_a_picture_that_this_start_did_not_draw_is_not_named(command: Command, tmp_path: Path) -> None:
    """One of an earlier start shows other numbers."""
    config = write_tiny_run(tmp_path / "a run", report__picture=False)
    picture = tmp_path / "a run" / "run" / "training_dashboard.png"
    assert "Picture:" not in command("train", config)[1]
    picture.write_bytes(b"of an earlier start")
    assert "Picture:" not in command("train", config)[1]
    assert picture.read_bytes() == b"of an earlier start"


def test_what_the_run_used_is_shown_by_role(finished: Finished) -> None:
    usage = read_json(finished.directory / "summary.json")["total_usage"]
    for role, spent in usage.items():
        assert f"Used, {role}:" in finished.said[1]
        assert f"{spent['calls']} calls, {spent['fresh_tokens']:,} tokens in, 0 cached" in finished.said[1]


def test_the_last_line_is_a_command_that_works_and_pays_nothing(command: Command, finished: Finished) -> None:
    """The run's path has a space and letters beyond ASCII."""
    program, *words = shlex.split(finished.said[1].splitlines()[-1])
    assert program == "skillopt"
    code, said, error = command(*words)
    assert code == 0, error
    assert "Paid now: 0 calls" in said
    known = re.search(r"Held out, best skill against seed skill: (.*)", finished.said[1])
    assert known and f"2 best_skill.md against 1 skill_v0000.md: {known[1]}" in said


def scores(solved: int | None, unmeasured: int = 0) -> dict[str, Any]:
    shown = "nothing measured" if solved is None else f"{solved}/4"
    return {"hard": None if solved is None else solved / 4, "shown": shown, "unmeasured": unmeasured}


def outcome(directory: Path, *, best: str, **summary: Any) -> Outcome:
    (directory / "skills").mkdir()
    (directory / "skills" / "skill_v0000.md").write_text("# Skill\n", "utf-8")
    spent = {"calls": 1, "fresh_tokens": 2, "cached_tokens": 3, "output_tokens": 4, "dollars": None}
    given = {
        "selection": {"seed": scores(1), "best": scores(2)},
        "test": {"seed": None, "best": None},
        "best_step": 1,
        "total_usage": {"target": spent},
    }
    return Outcome(EndState.LIMIT_REACHED, "calls: 1 of 1", directory, Skill.parse(best), {**given, **summary})


def test_an_early_end_shows_what_was_measured_and_no_more(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    show_outcome(outcome(tmp_path, best="# Skill\n"))
    said = capsys.readouterr().out
    assert "limit_reached: calls: 1 of 1" in said
    assert "selection split" in said and "held out" not in said.lower()
    assert "@@" not in said and "price unknown" in said and "SIMULATED" not in said


def test_a_test_that_could_not_be_measured_is_no_zero(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """F9"""
    test = {"seed": scores(None, 4), "best": scores(None, 4)}
    show_outcome(outcome(tmp_path, best="# Skill\n", test=test, best_step=0, test_delta_hard=None, test_delta_tasks=0))
    assert re.search(r"nothing measured, 4 unmeasured +nothing measured, 4 unmeasured +not measured", said_by(capsys))


def test_a_difference_over_fewer_tasks_says_over_how_many(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """F1: 2 of 3 against 1 of 2 is no comparison; the one task that both did is."""
    test = {"seed": scores(1, 2), "best": scores(3, 1)}
    show_outcome(outcome(tmp_path, best="# Skill\n", test=test, best_step=0, test_delta_hard=0.0, test_delta_tasks=1))
    assert re.search(r"test split.*\+0\.0 points on 1 task ", said_by(capsys))


def said_by(capsys: pytest.CaptureFixture[str]) -> str:
    return capsys.readouterr().out


def test_a_long_diff_says_where_the_rest_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    show_outcome(outcome(tmp_path, best="\n".join(f"- rule {n}\x1b[2J" for n in range(200))))
    said = said_by(capsys)
    assert "more lines; the whole skill is in best_skill.md" in said
    assert said.count("+- rule") < 90 and "\x1b[2J" not in said


def test_what_was_chosen_and_measured_after_the_last_step_is_told(command: Command, tmp_path: Path) -> None:
    """F37, F40: the fresh score stands beside the gate's."""
    config = write_tiny_run(tmp_path, evaluation__final_repeats=2, evaluation__reselect=2, evaluation__patience=9)
    code, said, _ = command("train", config)
    assert code == 0
    summary = read_json(tmp_path / "run" / "summary.json")
    fresh, gate = 100 * summary["final"]["passes"]["mean"], 100 * summary["best_gate_score"]
    told = (
        f"Its score on the selection split is that of 2 fresh passes: {fresh:.1f} %; at the gate it had {gate:.1f} %."
    )
    assert told in said
    seed, baseline = 100 * summary["final"]["seed_passes"]["mean"], 100 * summary["baseline_gate_score"]
    assert f"The seed's is that of as many beside them: {seed:.1f} %; its baseline was {baseline:.1f} %." in said
    assert f"{100 * summary['selection_delta_hard']:+.1f} points" in said
    assert f"Best skill: step {summary['best_step']}, chosen by fresh passes among step 1" in said
    assert "Ended after step" not in said


def test_why_a_training_ended_early_is_told(command: Command, tmp_path: Path) -> None:
    useless = "simulated:optimizer?useful=0&useless=1&seed=5&rules=4&tasks=32"
    settings = {"train__num_epochs": 3, "evaluation__patience": 1, "model__optimizer__name": useless}
    said = " ".join(command("train", write_tiny_run(tmp_path, **settings))[1].split())
    assert "Ended after step 1 of " in said
    assert ": 1 step without an accepted candidate (evaluation.patience). Candidates were made" in said


@pytest.mark.parametrize(("dollars", "told"), [(1.234, "$1.23"), (None, "price unknown")])
def test_a_fork_says_what_it_did_not_pay(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, dollars: float | None, told: str
) -> None:
    copied = {"from": "ru\x1b[2Jn", "replies": 3, "trajectories": 9, "rollouts": 7}
    used = {"used_records": 5, "used_calls": 1, "used_dollars": dollars}
    show_outcome(outcome(tmp_path, best="# Skill\n", fork={**copied, **used}))
    said = " ".join(capsys.readouterr().out.split())
    assert "Shared: 5 of 10 replies and rollouts of ru" in said
    assert f"1 call, {told}, not paid again" in said
    assert "\x1b" not in said


def test_a_training_that_stops_at_a_limit_says_what_to_do_on_both_streams(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before its first step, so there is no directory of steps to name either."""
    code = run(["train", str(write_tiny_run(tmp_path, **{"limits.optimizer.minutes": 1e-9})), "--yes"])
    said = capsys.readouterr()
    assert code == 14
    for text in (said.out, said.err, read_json(tmp_path / "run" / "summary.json")["message"]):
        assert "What was recorded is kept: raise the limit and run the same command again to go on." in text
    assert said.err.count("limits.optimizer.minutes is 1e-09") == 1
    assert not (tmp_path / "run" / "steps").exists()
    assert "Steps:" not in said.out
