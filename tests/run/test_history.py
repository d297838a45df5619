"""history.json, field by field, against the files of the steps and the evidence it is a view of."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.run.conftest import WITHIN_EPOCHS, Finished
from tests.support.bench import OpenBench, by_stage, rule
from tests.support.runs import read_json, write_run
from tests.support.values import rollout, unmeasured

from skillopt.api import train
from skillopt.learning_rate import edit_budget
from skillopt.run.history import count_actions, split_scores
from skillopt.skill.document import Skill
from skillopt.trainer import train as play

AMOUNTS = ("calls", "fresh_tokens", "cached_tokens", "output_tokens")
PUBLIC = {
    "step", "epoch", "step_in_epoch", "timing", "tokens", "rollout_hard", "rollout_soft", "rollout_n", "n_patches",
    "n_failure_patches", "n_success_patches", "n_edits_merged", "n_edits_ranked", "edit_budget", "support_counts",
    "candidate_hash", "candidate_skill_len", "edit_apply_summary", "selection_hard", "selection_soft", "gate_metric",
    "candidate_gate_score", "action", "current_score", "best_score", "best_step", "current_origin", "best_origin",
    "skill_len",
}  # fmt: skip
"""What users of the public tool find in a step's record."""


def steps(finished: Finished) -> list[dict[str, Any]]:
    return finished.history[1:]


def test_step_0_is_the_seed_skill_on_the_selection_split(finished: Finished) -> None:
    record = finished.history[0]
    seed = Skill.load(finished.config.parent / "seed_skill.md")
    rows = read_json(finished.directory / "selection_eval_baseline" / "results.json")
    usage = record["usage"]["target.baseline"]
    assert record == {
        "step": 0,
        "epoch": 0,
        "step_in_epoch": None,
        "action": "baseline",
        "reason": "the seed skill on the selection split",
        "train_acc": None,
        "val_acc": sum(row["hard"] for row in rows) / 10,
        "val_soft": sum(row["soft"] for row in rows) / 10,
        "val_solved": sum(row["hard"] for row in rows),
        "val_n": 10,
        "gate_metric": "hard",
        "current_score": 0.0,
        "current_origin": "initial_skill",
        "best_score": 0.0,
        "best_solved": 0,
        "best_n": 10,
        "best_step": 0,
        "best_origin": "initial_skill",
        "val_passes": {"n": 1, "mean": 0.0, "spread": None, "scores": [0.0]},
        "criteria": {},
        "candidate_val_acc": None,
        "candidate_val_acc_upper_bound": None,
        "skill_len": len(seed.text),
        "skill_tokens": record["skill_tokens"],
        "usage": {"target.baseline": usage},
        "tokens": {
            "baseline": {
                "calls": 10,
                "prompt_tokens": usage["fresh_tokens"] + usage["cached_tokens"],
                "completion_tokens": usage["output_tokens"],
            }
        },
        "total_usage": {"target": usage, "optimizer": dict.fromkeys(AMOUNTS, 0) | {"dollars": 0.0}},
        "timing": record["timing"],
    }
    assert usage["calls"] == 10
    assert usage["dollars"] == 0.0
    assert list(record["timing"]) == ["baseline_s", "wall_time_s"]


def test_every_step_has_the_public_names_in_one_order(finished: Finished) -> None:
    assert len(steps(finished)) == 10
    assert {tuple(record) for record in steps(finished)} == {tuple(steps(finished)[0])}
    assert set(steps(finished)[0]) > PUBLIC | {
        "train_acc", "val_acc", "candidate_val_acc", "candidate_val_acc_upper_bound", "edits", "usage", "total_usage",
    }  # fmt: skip


def test_steps_and_epochs_are_counted_as_the_loop_counts_them(finished: Finished) -> None:
    places = [(record["step"], record["epoch"], record["step_in_epoch"]) for record in steps(finished)]
    assert places == [(step, 1 + (step - 1) // 5, (step - 1) % 5) for step in range(1, 11)]


def test_the_training_scores_are_those_of_the_batch(finished: Finished) -> None:
    for record in steps(finished):
        rows = read_json(finished.step_directory(record) / "rollout" / "results.json")
        solved = sum(row["hard"] for row in rows)
        assert record["train_acc"] == record["rollout_hard"] == solved / len(rows)
        assert record["rollout_soft"] == pytest.approx(sum(row["soft"] for row in rows) / len(rows))
        assert (record["rollout_n"], record["rollout_solved"], record["rollout_unmeasured"]) == (len(rows), solved, 0)


def test_the_known_training_score_is_of_all_tasks_as_they_were_last_seen(finished: Finished) -> None:
    known: dict[str, int] = {}
    for record in steps(finished):
        rows = read_json(finished.step_directory(record) / "rollout" / "results.json")
        known |= {row["id"]: row["hard"] for row in rows}
        counted = (record["train_known_solved"], record["train_known_n"], record["train_known_acc"])
        assert counted == (sum(known.values()), len(known), sum(known.values()) / len(known))
        assert record["sampling"] == "all"
    assert len(known) == 20


def test_the_candidates_scores_are_those_of_the_gate(finished: Finished) -> None:
    whole = [record for record in steps(finished) if record["selection_n"] == 10]
    assert whole
    for record in whole:
        rows = read_json(finished.step_directory(record) / "selection_eval" / "results.json")
        hard = sum(row["hard"] for row in rows) / 10
        assert record["candidate_val_acc"] == record["selection_hard"] == record["candidate_gate_score"] == hard
        assert record["candidate_val_acc_upper_bound"] == record["candidate_gate_score_upper_bound"] == hard
        assert record["selection_soft"] == pytest.approx(sum(row["soft"] for row in rows) / 10)


def test_a_gate_that_stopped_early_leaves_a_bound_and_no_score(finished: Finished) -> None:
    stopped = [record for record in steps(finished) if 0 < record["selection_n"] < 10]
    assert len(stopped) > 3
    for record in stopped:
        rows = read_json(finished.step_directory(record) / "selection_eval" / "results.json")
        failed = sum(1 - row["hard"] for row in rows)
        assert (record["selection_n"], record["selection_solved"]) == (len(rows), len(rows) - failed)
        assert record["candidate_val_acc"] is record["selection_hard"] is record["candidate_gate_score"] is None
        assert record["candidate_val_acc_upper_bound"] == (10 - failed) / 10 <= record["current_score"]
        assert record["action"] == "reject"


def test_a_step_without_a_candidate_has_neither_score_nor_bound(finished: Finished) -> None:
    (record,) = [record for record in steps(finished) if record["action"] == "skip_no_patches"]
    names = ("candidate_val_acc", "candidate_val_acc_upper_bound", "candidate_gate_score", "selection_hard")
    assert [record[name] for name in names] == [None] * 4
    assert record["sign_test"] is None
    assert "target.gate" not in record["usage"]
    assert not (finished.step_directory(record) / "selection_eval").exists()


def test_val_acc_is_the_skill_that_training_goes_on_with(finished: Finished) -> None:
    before = finished.history[0]
    for record in steps(finished):
        accepted = record["action"].startswith("accept")
        assert record["val_acc"] == (record["candidate_val_acc"] if accepted else before["val_acc"])
        assert record["current_score"] == record["best_score"] == record["val_acc"] == record["val_solved"] / 10
        origin = f"step_{record['step']:04d}" if accepted else before["current_origin"]
        assert record["current_origin"] == record["best_origin"] == origin
        text = (finished.directory / "skills" / f"skill_v{record['step']:04d}.md").read_text("utf-8")
        assert record["skill_len"] == len(text)
        assert Skill.parse(text).digest.startswith(record["candidate_hash"]) == (
            accepted or record["action"] == "skip_no_patches"
        )
        before = record


def test_the_budget_of_each_step_is_the_scheduled_one(finished: Finished) -> None:
    wanted = [edit_budget("cosine", step=step, total_steps=10, maximum=2, minimum=1) for step in range(1, 11)]
    assert [record["edit_budget"] for record in steps(finished)] == wanted
    assert all(record["n_edits_ranked"] <= record["edit_budget"] for record in steps(finished))


def test_patches_and_edits_are_counted_as_the_files_show_them(finished: Finished) -> None:
    """F57: each edit has exactly one end, and each end stands in the record."""
    ends: Counter[str] = Counter()
    for record in steps(finished):
        directory = finished.step_directory(record)
        patches = [read_json(path) for path in sorted((directory / "patches").glob("*.json"))]
        merged, ranked = read_json(directory / "merged_patch.json"), read_json(directory / "ranked_edits.json")
        report = read_json(directory / "edit_apply_report.json")
        assert record["n_patches"] == len(patches) == record["n_failure_patches"] + record["n_success_patches"]
        assert record["n_failure_patches"] == sum(patch["source_type"] == "failure" for patch in patches)
        assert record["n_edits_proposed"] == sum(len(patch["edits"]) for patch in patches)
        assert record["n_edits_merged"] == len(merged["edits"]) == len(ranked["edits"]) + len(ranked["over_budget"])
        assert record["n_edits_ranked"] == len(ranked["edits"]) == len(report)
        assert record["support_counts"] == [edit["support_count"] for edit in ranked["edits"]]
        discarded = [entry for patch in (*patches, merged) for entry in patch["discarded"]]
        states = Counter(entry["status"] for entry in (*report, *ranked["over_budget"], *discarded))
        assert record["edits"] == dict.fromkeys(record["edits"], 0) | states
        assert record["edits_repaired"] == sum(outcome["repaired"] for outcome in report)
        ended = Counter(outcome["status"] for outcome in report)
        assert record["edit_apply_summary"] == {
            "total": len(report),
            "applied": ended["applied"],
            "skipped": len(report) - ended["applied"] - ended["invalid"],
            "errors": ended["invalid"],
        }
        ends += states
        ends["repaired"] += record["edits_repaired"]
    assert min(ends["applied"], ends["over_budget"], ends["repaired"]) > 0


def test_what_was_mended_or_dropped_is_counted(finished: Finished) -> None:
    """F45, F53: no reply vanishes without a word."""
    counted = sum((Counter(record["counters"]) for record in steps(finished)), Counter[str]())
    assert counted["replies_asked_again"] > 0


def test_running_totals_are_the_sums_of_the_steps_and_of_the_evidence(finished: Finished) -> None:
    """F122, F123: a row a call by role and stage, rejected candidates too; the sum is what was recorded."""
    sums = {role: Counter[str]() for role in ("target", "optimizer")}
    for record in finished.history:
        for name, amounts in record["usage"].items():
            role, stage = name.split(".")
            sums[role].update({key: amounts[key] for key in AMOUNTS})
            assert record["tokens"][stage]["calls"] == amounts["calls"]
        for role, total in record["total_usage"].items():
            assert {key: total[key] for key in AMOUNTS} == {key: sums[role][key] for key in AMOUNTS}
    with closing(sqlite3.connect(finished.directory / "evidence.sqlite")) as evidence:
        (replies,) = evidence.execute("SELECT count(*) FROM replies WHERE role = 'optimizer'").fetchone()
        (rollouts,) = evidence.execute("SELECT count(*) FROM rollouts").fetchone()
    tests = finished.summary["usage"]["target.test"]["calls"]
    assert finished.history[-1]["total_usage"]["optimizer"]["calls"] == replies
    assert finished.history[-1]["total_usage"]["target"]["calls"] == rollouts - tests


async def test_the_same_skill_on_the_same_task_is_counted_once(tmp_path: Path) -> None:
    """In the second epoch a task meets a skill that did it before: nothing is asked, and nothing counted."""
    still = {"optimizer.learning_rate": 0, "optimizer.min_learning_rate": 0}
    outcome = await train(write_run(tmp_path, settings={**still, **WITHIN_EPOCHS}))
    records = read_json(outcome.directory / "history.json")[1:]
    asked = sum(record["usage"].get("target.rollout", {"calls": 0})["calls"] for record in records)
    assert (asked, sum(record["rollout_n"] for record in records)) == (16, 32)


def test_the_history_is_written_anew_after_every_step(finished: Finished) -> None:
    assert [len(seen) for seen in finished.seen] == list(range(1, 12))
    assert [seen[-1]["step"] for seen in finished.seen] == list(range(11))
    assert finished.seen[-1] == finished.history


def test_each_steps_record_stands_beside_its_files_too(finished: Finished) -> None:
    for record in steps(finished):
        assert read_json(finished.step_directory(record) / "step_record.json") == record


def test_clock_readings_stand_apart_under_the_stages_and_the_public_names(finished: Finished) -> None:
    stages = {"rollout_s", "reflect_s", "aggregate_s", "select_s", "update_s"}
    for record in steps(finished):
        timing = record["timing"]
        assert set(timing) - {"gate_s"} == stages | {"evaluate_s", "wall_time_s"}
        assert ("gate_s" in timing) == (record["selection_n"] > 0)
        assert timing["evaluate_s"] == timing.get("gate_s", 0.0)
        assert timing["wall_time_s"] == pytest.approx(sum(timing[name] for name in (*stages, "evaluate_s")))


async def test_an_edit_that_could_not_be_applied_at_all_is_an_error(open_bench: OpenBench) -> None:
    edits = [{"op": "append", "content": rule(0)}, {"op": "delete", "target": ""}, {"op": "delete", "target": "zzz"}]
    bench = open_bench(
        optimizer=by_stage(reflect={"edits": edits}, update={"edits": []}), settings={"train.num_epochs": 1}
    )
    await play(bench)
    summary = bench.history[1]["edit_apply_summary"]
    assert summary == {"total": 3, "applied": 1, "skipped": 1, "errors": 1}


def test_a_score_says_how_many_it_was_counted_from_and_how_many_are_missing() -> None:
    """F1, F9: an error is never a zero."""
    scores = split_scores([rollout(0, 1), unmeasured(1), unmeasured(2), unmeasured(3)])
    assert scores == {
        "hard": 1.0, "soft": 1.0, "solved": 1, "measured": 1, "unmeasured": 3, "shown": "1/1 (100.0 %)",
    }  # fmt: skip
    nothing = split_scores([unmeasured(0)])
    assert (nothing["hard"], nothing["soft"], nothing["shown"]) == (None, None, "nothing measured")


def test_actions_are_counted_by_what_they_did_to_the_skill() -> None:
    actions = ["baseline", "accept", "accept_new_best", "force_accept", "reject", "skip_no_patches", "skip_unmeasured"]
    actions.append("deferred")
    counted = count_actions([{"action": action} for action in actions])
    assert counted == {"total_accepts": 3, "total_rejects": 1, "total_skips": 2, "total_deferred": 1}
