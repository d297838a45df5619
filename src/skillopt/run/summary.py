"""summary.json: what a run came to, on one page; the run card with it, so that it can be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from skillopt import __version__
from skillopt.config.schema import Config
from skillopt.digests import digest
from skillopt.evaluation.scores import mean_gate_score
from skillopt.models.meter import MeterRow
from skillopt.prompts import prompts_digest
from skillopt.run.history import Record, by_role, by_role_and_stage, count_actions, split_scores
from skillopt.run.identity import identity
from skillopt.run.models import Models, simulated
from skillopt.run.outcome import EndState
from skillopt.run.setup import Setup
from skillopt.state import Measured, State
from skillopt.types import Rollout

SCHEMA_VERSION = 1


def summary(
    config: Config,
    state: State,
    ended: EndState,
    message: str,
    *,
    card: Mapping[str, object],
    records: Sequence[Record],
    rows: Sequence[MeterRow],
    seed_test: Sequence[Rollout],
    best_test: Sequence[Rollout],
) -> Record:
    """Return the summary of a run.

    Args:
        config: The run's settings.
        state: Where training ended.
        ended: How it ended.
        message: Why, or what to do.
        card: Models and settings by role, data digests, prompts digest, versions.
        records: The entries of history.json.
        rows: What was used of both models.
        seed_test: The seed skill on the test split; empty where it was not measured.
        best_test: The best skill on the test split.
    """
    seed, best = split_scores(state.seed.rollouts), split_scores(state.best.rollouts)
    test_seed = split_scores(seed_test) if seed_test else None
    test_best = split_scores(best_test) if best_test else None
    return {
        "version": f"skillopt-{__version__}",
        "schema_version": SCHEMA_VERSION,
        "state": ended.value,
        "exit_code": ended.exit_code,
        "message": message,
        **card,
        "selection": {"seed": seed, "best": best, "gate_metric": config.evaluation.gate_metric},
        "test": {"seed": test_seed, "best": test_best},
        "baseline_selection_hard": seed["hard"],
        "best_selection_hard": best["hard"],
        "baseline_gate_score": _gate_score(config, state.seed),
        "best_gate_score": _gate_score(config, state.best),
        "best_step": state.best.step,
        "best_skill_hash": state.best.skill.digest[:16],
        "baseline_test_hard": test_seed["hard"] if test_seed else None,
        "baseline_test_soft": test_seed["soft"] if test_seed else None,
        "test_hard": test_best["hard"] if test_best else None,
        "test_soft": test_best["soft"] if test_best else None,
        "test_delta_hard": _difference(test_best, test_seed),
        "total_steps": len(records) - 1,
        **count_actions(records),
        "epoch_stats": [_epoch(records, epoch) for epoch in sorted({record["epoch"] for record in records} - {0})],
        "usage": by_role_and_stage(rows),
        "total_usage": by_role(rows),
    }


def _gate_score(config: Config, measured: Measured) -> float:
    evaluation = config.evaluation
    return float(mean_gate_score(measured.rollouts, evaluation.gate_metric, weight=evaluation.gate_mixed_weight))


def _difference(best: Mapping[str, Any] | None, seed: Mapping[str, Any] | None) -> float | None:
    if best is None or seed is None or best["hard"] is None or seed["hard"] is None:
        return None
    return best["hard"] - seed["hard"]


def _epoch(records: Sequence[Record], epoch: int) -> Record:
    own = [record for record in records if record["epoch"] == epoch]
    return {
        "epoch": epoch,
        "steps": len(own),
        **{name.removeprefix("total_"): count for name, count in count_actions(own).items()},
        "current_score_at_epoch_end": own[-1]["current_score"],
        "best_score_at_epoch_end": own[-1]["best_score"],
        "skill_tokens_at_epoch_end": own[-1]["skill_tokens"],
        "slow_update": own[-1].get("slow_update", {}).get("action"),
    }


def run_card(setup: Setup, models: Models) -> dict[str, object]:
    """What is needed to repeat the run, and to know what its numbers speak of."""
    config = setup.config
    return {
        "simulated": simulated(config),
        "models": {"target": dict(models.target.identity), "optimizer": dict(models.optimizer.identity)},
        "environment": dict(setup.environment.identity),
        "data": {
            "digest": setup.splits.manifest.digest,
            "counts": {name: len(setup.splits[name]) for name in ("train", "val", "test")},
        },
        "seed_skill_hash": setup.seed_skill.digest[:16],
        "prompts_digest": prompts_digest(),
        "identity_digest": digest(identity(setup)),
        "skillopt_version": __version__,
    }
