"""The run card: what is needed to repeat a run, and to know what its numbers speak of, key and value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from skillopt.report.course import Record
from skillopt.report.end_words import shown_scores
from skillopt.report.run_files import RunFiles


def run_card(files: RunFiles) -> tuple[tuple[str, str], ...]:
    """Return versions, digests, k/n scores, seeds, data, models and settings by role, in the order of their use."""
    return tuple(_card(files))


def models_by_role(files: RunFiles) -> tuple[tuple[str, str], ...]:
    """Return role and name of both models, as far as the run's settings are there."""
    configured: Mapping[str, Mapping[str, Any]] = files.settings.get("model") or {}
    roles = [role for role in ("target", "optimizer") if role in configured]
    return tuple((role, str(configured[role].get("name", ""))) for role in roles)


def is_simulated(files: RunFiles) -> bool:
    """Whether the numbers say nothing of real models; where neither card nor summary says so, the models' names do."""
    named = (name for _, name in models_by_role(files))
    return bool(_told(files).get("simulated")) or any(name.startswith("simulated:") for name in named)


def _told(files: RunFiles) -> Record:
    """Return what the end of a run says of it, and of one that is still going what its beginning did."""
    return {**(files.summary or {}), **(files.card or {})}


def _card(files: RunFiles) -> Iterator[tuple[str, str]]:
    told = _told(files)
    for name in ("skillopt_version", "state", "exit_code", "identity_digest", "prompts_digest", "seed_skill_hash",
                 "best_skill_hash", "best_step", "best_origin", "stopped_early"):  # fmt: skip
        if told.get(name) is not None:
            yield name, str(told[name])
    for split in ("selection", "test"):
        scores: Mapping[str, Any] = told.get(split) or {}
        for skill in ("seed", "best"):
            if scores.get(skill):
                yield f"{split}: {skill} skill", shown_scores(scores[skill])
    settings = files.settings
    for section, key in (("train", "seed"), ("env", "split_seed"), ("env", "split_ratio"), ("env", "data_path"),
                         ("env", "split_dir"), ("env", "skill_init")):  # fmt: skip
        values: Mapping[str, Any] = settings.get(section) or {}
        value: object = values.get(key)
        if value is not None:
            yield f"{section}.{key}", str(value)
    for name in ("data", "models", "environment"):
        yield from _leaves(told.get(name), name)
    splits: Mapping[str, Mapping[str, Any]] = (files.manifest or {}).get("splits") or {}
    for split, one in splits.items():
        yield f"{split}: digest of ids and contents", str(one.get("digest", ""))


def _leaves(value: object, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, inner in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(inner, f"{name}.{key}")  # pyright: ignore[reportUnknownArgumentType]
    elif value is not None and value != "" and value != []:
        yield name, str(value)
