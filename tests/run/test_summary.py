"""summary.json: what a run came to, with k/n beside every share, and the card that lets it be repeated."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.run.conftest import RICH, WITHIN_EPOCHS, Finished
from tests.support.runs import SMALL, read_json, write_run
from tests.support.values import rollout, unmeasured

from skillopt import __version__
from skillopt.api import train
from skillopt.config.load import load_config
from skillopt.data.splits import load_splits
from skillopt.digests import text_digest
from skillopt.prompts import prompts_digest
from skillopt.run.summary import difference
from skillopt.simulation.world import World


def shares(value: Any) -> list[dict[str, Any]]:
    """Every object in a JSON value that holds a share of solved tasks."""
    if not isinstance(value, dict):
        return []
    inner = [found for part in value.values() for found in shares(part)]
    return [value, *inner] if "hard" in value else inner


def test_the_end_of_the_run_is_named_with_its_exit_code_and_what_to_do(finished: Finished) -> None:
    summary = finished.summary
    assert (summary["state"], summary["exit_code"]) == ("improved", 0)
    assert summary["message"] == finished.outcome.message
    assert "best_skill.md" in summary["message"]
    assert summary == finished.outcome.summary


def test_k_of_n_stands_beside_every_share(finished: Finished) -> None:
    """F93: a percentage that its split cannot give would show."""
    found = shares(finished.summary)
    assert len(found) == 4
    for scores in found:
        assert scores["hard"] == scores["solved"] / scores["measured"]
        assert scores["shown"] == f"{scores['solved']}/10 ({100 * scores['hard']:.1f} %)"
        assert scores["unmeasured"] == 0


def test_seed_and_best_skill_are_compared_on_both_held_out_splits(finished: Finished) -> None:
    summary, history = finished.summary, finished.history
    selection, test = summary["selection"], summary["test"]
    assert selection["seed"]["solved"] == history[0]["val_solved"]
    assert selection["best"]["solved"] == history[-1]["val_solved"] == max(record["val_solved"] for record in history)
    assert summary["baseline_selection_hard"] == summary["baseline_gate_score"] == history[0]["best_score"]
    assert summary["best_selection_hard"] == summary["best_gate_score"] == history[-1]["best_score"]
    assert summary["best_gate_solved"] / summary["best_gate_n"] == summary["best_gate_score"]
    assert (summary["best_step"], summary["best_origin"]) == (history[-1]["best_step"], history[-1]["best_origin"])
    for name, which in (("test_eval_baseline", "seed"), ("test_eval", "best")):
        rows = read_json(finished.directory / name / "results.json")
        assert test[which]["solved"] == sum(row["hard"] for row in rows)
    assert summary["test_delta_hard"] == pytest.approx(summary["test_hard"] - summary["baseline_test_hard"])
    assert (summary["test_delta_hard"] > 0, summary["test_delta_tasks"]) == (True, 10)


def test_the_test_scores_are_the_truth_about_the_skills(finished: Finished) -> None:
    """The simulated world knows which tasks a skill suffices for."""
    best = (finished.directory / "best_skill.md").read_text("utf-8")
    test_ids = {task.id for task in load_splits(load_config(finished.config).config.env).test}
    able = {task.id for task in RICH.solved(best)} & test_ids
    assert finished.summary["test"]["best"]["solved"] == len(able)
    assert finished.summary["best_skill_hash"] == text_digest(best)[:16]


def test_the_steps_are_counted_in_all_and_by_epoch_under_the_public_names(finished: Finished) -> None:
    summary, history = finished.summary, finished.history
    counts = Counter(record["action"].partition("_")[0] for record in history[1:])
    assert summary["total_steps"] == 10
    assert [summary[f"total_{name}s"] for name in ("accept", "reject", "skip")] == [
        counts[name] for name in ("accept", "reject", "skip")
    ]
    assert summary["best_step"] == history[-1]["best_step"]
    first, second = summary["epoch_stats"]
    assert (first["epoch"], first["steps"], second["epoch"], second["steps"]) == (1, 5, 2, 5)
    for name in ("accepts", "rejects", "skips"):
        assert first[name] + second[name] == summary[f"total_{name}"]
    assert first["best_score_at_epoch_end"] == history[5]["best_score"]
    assert second["current_score_at_epoch_end"] == history[10]["current_score"]
    assert second["skill_tokens_at_epoch_end"] == history[10]["skill_tokens"]


def test_spending_is_shown_by_role_and_by_stage(finished: Finished) -> None:
    """F123: where the tokens go, fresh, cached and output apart."""
    usage, total = finished.summary["usage"], finished.summary["total_usage"]
    assert set(usage) >= {"target.baseline", "target.rollout", "target.gate", "target.test", "optimizer.reflect"}
    for role in ("target", "optimizer"):
        for key in ("calls", "fresh_tokens", "cached_tokens", "output_tokens"):
            assert total[role][key] == sum(
                amounts[key] for name, amounts in usage.items() if name.startswith(f"{role}.")
            )


def test_the_run_card_says_what_it_takes_to_repeat_the_run(finished: Finished) -> None:
    """F130: data, splits, prompts, models with their settings, seed text, code version."""
    summary = finished.summary
    manifest = read_json(finished.directory / "split_manifest.json")
    assert summary["data"] == {"digest": manifest["digest"], "counts": {"train": 20, "val": 10, "test": 10}}
    assert manifest["counts"] == summary["data"]["counts"]
    assert summary["prompts_digest"] == prompts_digest()
    assert summary["models"]["target"]["world"] == dict(RICH.identity)
    assert summary["models"]["optimizer"]["settings"]["malformed"] == 0.1
    seed = (finished.directory / "skills" / "skill_v0000.md").read_bytes()
    assert seed == (finished.config.parent / "seed_skill.md").read_bytes()
    assert summary["seed_skill_hash"] == text_digest(seed.decode())[:16]
    assert summary["environment"]["name"] == "question_answering"
    assert summary["skillopt_version"] == __version__


def test_numbers_of_simulated_models_are_marked_as_such(finished: Finished) -> None:
    assert finished.summary["simulated"] is True


async def test_an_unchanged_skill_is_tested_once_and_shown_twice(tmp_path: Path) -> None:
    """More 17; F10: an optimizer that says nothing of use ends as no_candidates."""
    optimizer = f"simulated:optimizer?malformed=1&seed={SMALL.seed}&rules=4&tasks=32"
    config = write_run(tmp_path, SMALL, settings={"model.optimizer.name": optimizer, "optimizer.learning_rate": 0,
                                                  "optimizer.lr_scheduler": "constant", **WITHIN_EPOCHS})  # fmt: skip
    outcome = await train(config)
    summary = outcome.summary
    assert (outcome.state, summary["exit_code"]) == ("no_candidates", 11)
    assert summary["test"]["seed"] == summary["test"]["best"]
    assert summary["test_delta_hard"] == 0.0
    assert summary["usage"]["target.test"]["calls"] == 8
    assert summary["total_usage"]["optimizer"]["calls"] == 0


def test_a_difference_is_one_over_tasks_that_were_measured_with_both_skills() -> None:
    """F1: the outage took the hard tasks from one of them, and that is no gain; none in common, and there is none."""
    seed = [rollout(1, 1), rollout(2, 0), rollout(3, 0), unmeasured(4)]
    best = [rollout(1, 1), unmeasured(2), rollout(3, 1), rollout(4, 1)]
    assert difference(seed, best) == (0.5, 2)
    assert difference(seed[1:2], best[1:2]) == (None, 0)
    assert difference((), ()) == (None, 0)


async def test_without_a_final_test_nothing_is_said_of_it(tmp_path: Path) -> None:
    outcome = await train(write_run(tmp_path, settings={"evaluation.eval_test": False, "train.num_epochs": 1}))
    assert outcome.summary["test"] == {"seed": None, "best": None}
    assert outcome.summary["test_hard"] is outcome.summary["test_delta_hard"] is None
    assert "target.test" not in outcome.summary["usage"]
    assert not (outcome.directory / "test_eval").exists()


async def test_two_directories_with_the_same_settings_have_the_same_card(tmp_path: Path) -> None:
    """F130: what changes nothing that is measured changes nothing in the summary either."""
    one = await train(write_run(tmp_path / "one"))
    two = await train(write_run(tmp_path / "two", settings={"env.workers": 1, "model.target.timeout": 9}))
    assert json.dumps(one.summary) == json.dumps(two.summary)
    other = await train(write_run(tmp_path / "other", World(6, rules=4, tasks=32)))
    assert other.summary["identity_digest"] != one.summary["identity_digest"]
