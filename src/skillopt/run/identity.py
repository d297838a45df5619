"""What a run directory belongs to: the settings and data that determine its results.

A run that is started again must be the same run. Settings that change nothing that is measured (how many calls at
once, how long to wait, where files lie) may differ; any other difference is an error that lists old and new.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from skillopt.config.dump import flattened
from skillopt.digests import canonical_json
from skillopt.errors import RunDirectoryError
from skillopt.run.evidence import EvidenceStore
from skillopt.run.setup import Setup
from skillopt.types import JsonValue

_NEUTRAL = frozenset(
    {
        *(
            f"model.{role}.{key}"
            for role in ("optimizer", "target")
            for key in ("api_key_env", "timeout", "attempts", "concurrency")
        ),
        "gradient.analyst_workers",
        "evaluation.max_unmeasured",
        "env.workers",
        "env.exec_timeout",
        "env.out_root",
        # Where files lie does not matter: what is in them is compared by digest.
        "env.data_path",
        "env.split_dir",
        "env.skill_init",
    }
)
"""Settings that change nothing that is measured."""

_NAME = "identity"


def identity(setup: Setup) -> dict[str, JsonValue]:
    """Return all that determines a run's results besides the replies it gets, under readable keys."""
    settings = {".".join(key): value for key, value in flattened(setup.config).items()}
    return {
        **{key: value for key, value in settings.items() if key not in _NEUTRAL},
        "data (digest of the tasks)": setup.splits.manifest.digest,
        "seed skill (digest)": setup.seed_skill.digest,
        "environment": canonical_json(dict(setup.environment.identity)),
    }


def claim(evidence: EvidenceStore, setup: Setup) -> None:
    """Make a new run directory this run's, or make sure that an existing one is.

    Raises:
        RunDirectoryError: If the directory belongs to other settings or data; the message lists the differences.
    """
    wanted = identity(setup)
    recorded = evidence.get_meta(_NAME)
    if recorded is None:
        evidence.put_meta(_NAME, canonical_json(wanted))
        return
    before: Mapping[str, JsonValue] = json.loads(recorded)
    keys = [key for key in {**before, **wanted} if before.get(key) != wanted.get(key)]
    if keys:
        differences = "\n".join(f"  {key}: {_shown(before.get(key))} -> {_shown(wanted.get(key))}" for key in keys)
        raise RunDirectoryError(
            f"the run directory belongs to a run with other settings or data:\n{differences}",
            hint="Set them back to go on with that run, or name another directory in env.out_root.",
        )


def _shown(value: JsonValue) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."
