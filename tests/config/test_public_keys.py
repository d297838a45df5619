"""Keys of the public SkillOpt are told what to write instead."""

from __future__ import annotations

import pytest

from skillopt.config.describe import settings
from skillopt.config.public_keys import advice, value_to_write
from skillopt.config.schema import Config


@pytest.mark.parametrize(
    ("key", "told"),
    [
        ("gradient.max_analyst_rounds", "retired"),
        ("max_analyst_rounds", "retired"),
        ("optimizer_model", "write model.optimizer"),
        ("model.backend", "before the colon"),
        ("model.target_backend", "before the colon"),
        ("model.azure_openai_endpoint", "base_url"),
        ("model.optimizer_azure_openai_api_version", "base_url"),
        ("model.qwen_chat_base_url", "base_url"),
        ("model.codex_exec_sandbox", "not available yet"),
        ("model.sandbox", "not available yet"),
        ("model.reasoning_effort", "model.target.reasoning_effort"),
        ("train.steps_per_epoch", "follows from"),
        ("optimizer.meta_edit_budget", "not available yet"),
        ("model.rewrite_reasoning_effort", "model.optimizer.reasoning_effort"),
        ("model.rewrite_max_completion_tokens", "model.optimizer.max_tokens"),
        ("optimizer.edit_budget", "optimizer.learning_rate"),
        ("env.split", "--split"),
        ("env.split_output_dir", "run directory"),
    ],
)
def test_a_public_key_is_told_what_to_write_instead(key: str, told: str) -> None:
    assert told in advice(tuple(key.split(".")))


@pytest.mark.parametrize(
    ("key", "value", "meant"),
    [
        ("lr_control_mode", "manual", "fixed"),
        ("lr_control_mode", "Auto", "autonomous"),
        ("lr_control_mode", False, "none"),
        ("skill_update_mode", "suggestions", "rewrite_from_suggestions"),
        ("skill_update_mode", "full_rewrite", "full_rewrite_minibatch"),
        ("skill_update_mode", "zzz", ""),
        ("lr_scheduler", "auto", ""),
    ],
)
def test_a_public_spelling_of_a_value_is_told_what_to_write(key: str, value: object, meant: str) -> None:
    assert value_to_write(key, value) == meant


@pytest.mark.parametrize("key", ["train.batch_sise", "model.target.backend.x", "other.split", "nonsense"])
def test_other_keys_are_left_to_the_nearest_name(key: str) -> None:
    assert advice(tuple(key.split("."))) == ""


def test_advice_names_only_keys_that_exist() -> None:
    import re

    known = {".".join(path) for path, _ in settings(Config)} | {"model.optimizer", "model.target"}
    from skillopt.config import public_keys

    told = " ".join(text for _, text in public_keys._ADVICE)  # pyright: ignore[reportPrivateUsage]
    named = set(re.findall(r"\b(?:model|train|optimizer|evaluation|env|gradient)\.[a-z_.]+[a-z]", told))
    assert named
    assert named <= known
