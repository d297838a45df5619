"""What a run directory belongs to: the settings, data and models that determine its results.

A run that is started again must be the same run. Settings that change nothing that is measured (how many calls at
once, how long to wait, where files lie) may differ; any other difference is an error that lists old and new.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from skillopt.config.dump import flattened
from skillopt.config.provenance import KeyPath
from skillopt.digests import canonical_json
from skillopt.errors import RunDirectoryError
from skillopt.evaluation.acceptance import AcceptanceRule
from skillopt.prompts import prompts_digest
from skillopt.run.evidence import EvidenceStore
from skillopt.run.models import Models
from skillopt.run.setup import Setup
from skillopt.types import JsonValue


def identity(setup: Setup) -> dict[str, JsonValue]:
    """Return all that determines a run's results besides the replies it gets, under readable keys."""
    own = setup.config.env.model_extra or {}
    return {
        **{
            ".".join(key): value
            for key, value in flattened(setup.config).items()
            if not _is_neutral(key) and not (key[0] == "env" and key[1] in own)
        },
        **({} if setup.acceptance is None else _acceptance(setup.acceptance)),
        **{f"environment.{key}": value for key, value in _leaves(setup.environment.identity)},
        **{f"tasks of {name} (digest)": split.digest for name, split in setup.splits.manifest.splits.items()},
        "seed skill (digest)": setup.seed_skill.digest,
        "prompts (digest)": prompts_digest(),
    }


def _is_neutral(key: KeyPath) -> bool:
    """Whether a setting changes nothing that is measured, or its effect is compared in another way."""
    match key:
        case ("model", _, "api_key_env" | "timeout" | "attempts" | "concurrency" | "price", *_):
            return True
        # What a preset sets is compared setting by setting.
        case (
            ("preset",) | ("limits" | "report", *_) | ("gradient", "analyst_workers") | ("evaluation", "max_unmeasured")
        ):
            return True
        case ("env", "workers" | "exec_timeout" | "out_root"):
            return True
        # Where files lie does not matter: what is in them is compared by digest, and the environment by its identity.
        case ("env", "name" | "data_path" | "split_dir" | "skill_init") | ("evaluation", "acceptance"):
            return True
        case _:
            return False


def models_identity(models: Models) -> dict[str, JsonValue]:
    """Return what only an open model knows of itself: the digest of its weights, its engine, its address, defaults."""
    return {
        f"model.{role}.{key}": value for role, model in models.opened.items() for key, value in _leaves(model.identity)
    }


def claim(evidence: EvidenceStore, setup: Setup) -> None:
    """Make a new run directory this run's, or make sure that an existing one is.

    Raises:
        RunDirectoryError: If the directory belongs to other settings or data; the message lists the differences.
    """
    _claim(evidence, "identity", identity(setup), others="settings or data")


def claim_models(evidence: EvidenceStore, models: Models) -> None:
    """Do the same for the models, once they are open and before one is asked.

    The settings may be equal and the models not: another file of weights under the same name, another engine.

    Raises:
        RunDirectoryError: If the run was begun with other models; the message lists the differences.
    """
    _claim(evidence, "models", models_identity(models), others="models")


def _claim(evidence: EvidenceStore, name: str, wanted: Mapping[str, JsonValue], *, others: str) -> None:
    recorded = evidence.get_meta(name)
    # A start that failed before its first call has recorded nothing that could belong to anybody.
    if recorded is None or evidence.empty:
        evidence.put_meta(name, canonical_json(dict(wanted)))
        return
    before: Mapping[str, JsonValue] = json.loads(recorded)
    keys = [key for key in {**before, **wanted} if before.get(key) != wanted.get(key)]
    if keys:
        differences = "\n".join(f"  {key}: {_shown(before.get(key))} -> {_shown(wanted.get(key))}" for key in keys)
        raise RunDirectoryError(
            f"the run directory belongs to a run with other {others}:\n{differences}",
            hint="Set them back to go on with that run, or name another directory in env.out_root.",
        )


def _acceptance(rule: AcceptanceRule) -> dict[str, JsonValue]:
    return {"acceptance rule": rule.name, "acceptance rule (digest)": rule.sha256}


def _leaves(mapping: Mapping[str, JsonValue], prefix: str = "") -> Iterator[tuple[str, JsonValue]]:
    for key, value in mapping.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def _shown(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."
