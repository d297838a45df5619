"""What a run directory belongs to: the settings, data and models that determine its results.

A run that is started again must be the same run. Settings that change nothing that is measured (how many calls at
once, how long to wait, where files lie) may differ, and there may be more epochs; any other difference is an error
that lists old and new.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path

from skillopt.config.dump import flattened
from skillopt.config.provenance import KeyPath
from skillopt.data.split_names import SPLIT_NAMES
from skillopt.data.splits import steps_per_epoch
from skillopt.digests import canonical_json
from skillopt.errors import RunDirectoryError
from skillopt.evaluation.acceptance import AcceptanceRule
from skillopt.prompts import prompts_digest
from skillopt.run.differences import TaskList, changed_keys, setting_line, tasks_line
from skillopt.run.evidence import EvidenceStore
from skillopt.run.models import Models
from skillopt.run.schedule import MoreEpochs
from skillopt.run.setup import Setup
from skillopt.types import JsonValue, SplitName

_EPOCHS = "train.num_epochs"
_WAYS_OUT = (
    "Set it back to go on with that run, or name another directory in env.out_root, or begin a run that shares what "
    "this one has paid for, as far as it still fits: --fork NEW_DIRECTORY."
)
_UNKNOWN = (
    "Put back a copy of evidence.sqlite, or the run's own config.yaml and split_manifest.json and start with them. Or "
    "begin a run that shares what this one has paid for, as far as it fits: --fork NEW_DIRECTORY."
)


class Difference(StrEnum):
    """What becomes of a setting that differs between two starts on one directory."""

    FREE = "free"
    """It changes nothing that is measured."""
    BY_CONTENT = "by content"
    """It says where something lies or what it is called; what is there is compared in its place."""
    MAY_RISE = "may rise"
    """A higher value goes on with the run, and its effect is said; a lower one is refused."""
    REFUSED = "refused"
    """It is part of what the run is."""


def difference(key: KeyPath) -> Difference:
    """Return what becomes of a setting of the configuration that differs; one that nobody thought of is refused."""
    match key:
        case ("model", _, "api_key_env" | "timeout" | "attempts" | "concurrency" | "price", *_):
            return Difference.FREE
        case (
            ("limits" | "report" | "trackers", *_) | ("gradient", "analyst_workers") | ("evaluation", "max_unmeasured")
        ):
            return Difference.FREE
        case ("env", "workers" | "exec_timeout" | "out_root"):
            return Difference.FREE
        # What a preset sets is compared setting by setting.
        case ("preset",) | ("env", "name" | "data_path" | "split_dir" | "skill_init") | ("evaluation", "acceptance"):
            return Difference.BY_CONTENT
        case ("train", "num_epochs"):
            return Difference.MAY_RISE
        case _:
            return Difference.REFUSED


def identity(setup: Setup) -> dict[str, JsonValue]:
    """Return all that determines a run's results besides the replies it gets, under readable keys."""
    own = setup.config.env.model_extra or {}
    return {
        **{
            ".".join(key): value
            for key, value in flattened(setup.config).items()
            if difference(key) in (Difference.REFUSED, Difference.MAY_RISE) and not (key[0] == "env" and key[1] in own)
        },
        **({} if setup.acceptance is None else _acceptance(setup.acceptance)),
        **{f"environment.{key}": value for key, value in _leaves(setup.environment.identity)},
        **{_tasks_key(name): split.digest for name, split in setup.splits.manifest.splits.items()},
        "seed skill (digest)": setup.seed_skill.digest,
        "prompts (digest)": prompts_digest(),
    }


def models_identity(models: Models) -> dict[str, JsonValue]:
    """Return what only an open model knows of itself: the digest of its weights, its engine, its address, defaults."""
    return {
        f"model.{role}.{key}": value for role, model in models.opened.items() for key, value in _leaves(model.identity)
    }


def claim(evidence: EvidenceStore, setup: Setup) -> MoreEpochs | None:
    """Make a new run directory this run's, or make sure that an existing one is.

    Returns:
        The change, where the run is to go on for more epochs; the directory is this run's once `extend` was called.

    Raises:
        RunDirectoryError: If the directory belongs to other settings or data; the message lists the differences.
    """
    before, wanted = _recorded(evidence, "identity"), identity(setup)
    if before is None:
        if evidence.begun and not evidence.get_meta("identity") and not _shown_by(evidence.directory, setup):
            raise RunDirectoryError(
                f"{evidence.directory} holds the evidence of a run, and no note of which run it was is left in it",
                hint=_UNKNOWN,
            )
        _record(evidence, setup)
        return None
    keys = changed_keys(before, wanted)
    change = _more_epochs(before, wanted)
    lines = [_line(key, before, wanted, evidence, setup) for key in keys if not (change and key == _EPOCHS)]
    _refuse(lines, evidence, others="settings or data")
    return change


def extend(evidence: EvidenceStore, setup: Setup, change: MoreEpochs) -> None:
    """Make a directory the run's that goes on for more epochs; its shorter form is refused from now on.

    Steps that are played anew take their own time: what was noted of the earlier ones is forgotten.
    """
    per_epoch = steps_per_epoch(len(setup.splits.train), setup.config.train.tasks_per_step)
    changed = change.changed_budgets(setup.config.optimizer, steps_per_epoch=per_epoch)
    for step in range(min(changed), change.before * per_epoch + 1) if changed else ():
        evidence.remove_meta(f"timing of step {step}")
        for stage in ("slow_update", "meta_skill"):
            evidence.remove_meta(f"timing of {stage} of epoch {-(-step // per_epoch)}")
    _record(evidence, setup)


def claim_models(evidence: EvidenceStore, models: Models) -> None:
    """Do the same for the models, once they are open and before one is asked.

    The settings may be equal and the models not: another file of weights under the same name, another engine.

    Raises:
        RunDirectoryError: If the run was begun with other models; the message lists the differences.
    """
    before, wanted = _recorded(evidence, "models"), models_identity(models)
    if before is None:
        evidence.put_meta("models", canonical_json(wanted))
        return
    lines = [setting_line(key, before.get(key), wanted.get(key)) for key in changed_keys(before, wanted)]
    _refuse(lines, evidence, others="models")


def _record(evidence: EvidenceStore, setup: Setup) -> None:
    tasks = {name: _task_list(setup, name) for name in SPLIT_NAMES}
    # The order of a split counts, so its tasks are a list.
    evidence.put_meta("tasks", json.dumps(tasks))
    evidence.put_meta("identity", canonical_json(identity(setup)))


def _recorded(evidence: EvidenceStore, name: str) -> Mapping[str, JsonValue] | None:
    """What the directory belongs to; None where it belongs to nobody yet.

    A start that failed before its first answer, paid or shared, has shown nothing that could belong to anybody.
    """
    recorded = evidence.get_meta(name)
    return None if recorded is None or not evidence.begun else json.loads(recorded)


def _shown_by(directory: Path, setup: Setup) -> bool:
    """Whether the views of a directory say that it is this run's: its configuration and its tasks."""
    try:
        configuration = (directory / "config.yaml").read_text("utf-8")
        manifest = json.loads((directory / "split_manifest.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return configuration == setup.loaded.to_yaml(out_root=".") and manifest == setup.splits.manifest.to_json()


def _refuse(lines: list[str], evidence: EvidenceStore, *, others: str) -> None:
    if lines:
        listed = "".join(f"\n  {line}" for line in lines)
        message = f"the run directory {evidence.directory} belongs to a run with other {others}:{listed}"
        raise RunDirectoryError(message, hint=_WAYS_OUT)


def _more_epochs(before: Mapping[str, JsonValue], wanted: Mapping[str, JsonValue]) -> MoreEpochs | None:
    old, new = before.get(_EPOCHS), wanted[_EPOCHS]
    assert isinstance(new, int), "the schema says so"
    return MoreEpochs(old, new) if isinstance(old, int) and old < new else None


def _line(
    key: str,
    before: Mapping[str, JsonValue],
    wanted: Mapping[str, JsonValue],
    evidence: EvidenceStore,
    setup: Setup,
) -> str:
    line = setting_line(key, before.get(key), wanted.get(key))
    if key == _EPOCHS:
        return f"{line} (there may be more epochs, not fewer)"
    recorded = evidence.get_meta("tasks")
    for split in SPLIT_NAMES:
        # An older version has recorded the digest of the whole split and no more.
        if key == _tasks_key(split) and recorded is not None:
            known: list[list[str]] = json.loads(recorded)[split]
            return tasks_line(split, [(name, digest) for name, digest in known], _task_list(setup, split))
    return line


def _tasks_key(split: str) -> str:
    return f"tasks of {split} (digest)"


def _task_list(setup: Setup, split: SplitName) -> TaskList:
    return [(task.id, task.digest) for task in setup.splits[split]]


def _acceptance(rule: AcceptanceRule) -> dict[str, JsonValue]:
    return {"acceptance rule": rule.name, "acceptance rule (digest)": rule.sha256}


def _leaves(mapping: Mapping[str, JsonValue], prefix: str = "") -> Iterator[tuple[str, JsonValue]]:
    for key, value in mapping.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
