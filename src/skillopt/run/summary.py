"""summary.json: what a run came to, on one page; the run card with it, so that it can be repeated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from skillopt import __version__
from skillopt.config.schema import Config
from skillopt.digests import digest
from skillopt.evaluation.scores import gate_score, solved
from skillopt.models.meter import MeterRow
from skillopt.prompts import prompts_digest
from skillopt.run.history import Record, count_actions, origin_of, pass_scores, split_scores
from skillopt.run.identity import identity, models_identity
from skillopt.run.models import Models, simulated
from skillopt.run.outcome import EndState, reported
from skillopt.run.setup import Setup
from skillopt.run.spending_records import by_role, by_role_and_stage
from skillopt.state import Measured, State
from skillopt.types import Rollout

SCHEMA_VERSION = 1

CARD_NAME = "run_card.json"


def summary(
    config: Config,
    state: State,
    ended: EndState,
    message: str,
    *,
    card: Mapping[str, object],
    stopped_early: str,
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
        card: The run card.
        stopped_early: Why it ended before its last step, in words; "" where it did not.
        records: The entries of history.json.
        rows: What was used of both models.
        seed_test: The seed skill on the test split; empty where it was not measured.
        best_test: The best skill on the test split.
    """
    evaluation = config.evaluation
    seed, best = (split_scores(rollouts) for rollouts in reported(state))
    test_seed = split_scores(seed_test) if seed_test else None
    test_best = split_scores(best_test) if best_test else None
    delta, compared = difference(seed_test, best_test)
    return {
        **early_summary(ended, message, card=card),
        "stopped_early": stopped_early or None,
        "selection": {"seed": seed, "best": best, "gate_metric": str(evaluation.compared)},
        "selection_passes": _selection_passes(config, state),
        "final": _final(config, state),
        "test": {"seed": test_seed, "best": test_best},
        "baseline_selection_hard": seed["hard"],
        "best_selection_hard": best["hard"],
        "selection_delta_hard": best["hard"] - seed["hard"],
        "baseline_gate_score": float(gate_score(state.seed.rollouts, evaluation)),
        "best_gate_score": float(gate_score(state.best.rollouts, evaluation)),
        **_best_skill(state.best),
        "baseline_test_hard": test_seed["hard"] if test_seed else None,
        "baseline_test_soft": test_seed["soft"] if test_seed else None,
        "test_hard": test_best["hard"] if test_best else None,
        "test_soft": test_best["soft"] if test_best else None,
        "test_delta_hard": delta,
        "test_delta_tasks": compared,
        "total_steps": len(records) - 1,
        **count_actions(records),
        "epoch_stats": [_epoch(records, epoch) for epoch in sorted({record["epoch"] for record in records} - {0})],
        "usage": by_role_and_stage(rows),
        "total_usage": by_role(rows),
    }


def early_summary(ended: EndState, message: str, *, card: Mapping[str, object]) -> Record:
    """Return what every summary holds: how the run ended and the run card.

    It is all there is where a run ended before its baseline was measured.
    """
    return {
        "version": f"skillopt-{__version__}",
        "schema_version": SCHEMA_VERSION,
        "state": ended.value,
        "exit_code": ended.exit_code,
        "message": message,
        **card,
    }


def _best_skill(best: Measured) -> Record:
    """What the gate counted of the best skill, and where that came from."""
    count, measured = solved(best.rollouts)
    return {
        "best_gate_solved": count,
        "best_gate_n": measured,
        "best_step": best.step,
        "best_origin": origin_of(best),
        "best_skill_hash": best.skill.short_digest,
    }


def _selection_passes(config: Config, state: State) -> Record:
    return {
        "seed": pass_scores(config.evaluation, state.seed.rollouts),
        "best": pass_scores(config.evaluation, state.best.rollouts),
    }


def _final(config: Config, state: State) -> Record | None:
    """How the best skill was chosen and measured after the last step; None where neither was asked for."""
    if state.final is None:
        return None
    final, evaluation = state.final, config.evaluation
    chosen = zip(final.finalists, final.fresh, strict=True)
    return {
        "passes": pass_scores(evaluation, final.again) if final.again else None,
        "seed_passes": pass_scores(evaluation, final.seed_again) if final.seed_again else None,
        "finalists": [
            {
                "step": finalist.step,
                "origin": origin_of(finalist),
                "skill_hash": finalist.skill.short_digest,
                "gate_score": float(gate_score(finalist.rollouts, evaluation)),
                "fresh_score": pass_scores(evaluation, fresh)["mean"],
            }
            for finalist, fresh in chosen
        ],
    }


def difference(seed: Sequence[Rollout], best: Sequence[Rollout]) -> tuple[float | None, int]:
    """Return by how much the best skill solves more than the seed on the tasks measured with both, and their number."""
    pairs = [(one.score, two.score) for one, two in zip(seed, best, strict=True) if one.score and two.score]
    gained = sum(two.hard - one.hard for one, two in pairs)
    return (gained / len(pairs) if pairs else None), len(pairs)


def _epoch(records: Sequence[Record], epoch: int) -> Record:
    own = [record for record in records if record["epoch"] == epoch]
    before = [record for record in records if record["epoch"] < epoch][-1]
    return {
        "epoch": epoch,
        "steps": len(own),
        **{name.removeprefix("total_"): count for name, count in count_actions(own).items()},
        "current_score_at_epoch_end": own[-1]["current_score"],
        "best_score_at_epoch_end": own[-1]["best_score"],
        "skill_tokens_at_epoch_end": own[-1]["skill_tokens"],
        "skill_tokens_growth": own[-1]["skill_tokens"] - before["skill_tokens"],
        "slow_update": own[-1].get("slow_update", {}).get("action"),
    }


def run_card(setup: Setup, models: Models) -> dict[str, object]:
    """What is needed to repeat the run, and to know what its numbers speak of: `run_card.json`, from its beginning.

    Models and settings by role, data digests, prompts digest, versions.
    """
    config = setup.config
    return {
        "simulated": simulated(config),
        "models": {"target": dict(models.target.identity), "optimizer": dict(models.optimizer.identity)},
        "environment": dict(setup.environment.identity),
        "data": {
            "digest": setup.splits.manifest.digest,
            "counts": {name: len(setup.splits[name]) for name in ("train", "val", "test")},
        },
        "seed_skill_hash": setup.seed_skill.short_digest,
        "prompts_digest": prompts_digest(),
        "identity_digest": digest({**identity(setup), **models_identity(models)}),
        "skillopt_version": __version__,
    }
