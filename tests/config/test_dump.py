"""A configuration as text, its digest, and what differs between two."""

from __future__ import annotations

from skillopt.config.dump import config_digest, differences, flattened, to_yaml
from skillopt.config.schema import Config, EnvSettings, EvaluationSettings, ModelSettings, RoleSettings, TrainSettings

MODELS = ModelSettings(optimizer=RoleSettings(name="a:b"), target=RoleSettings(name="a:c"))
CONFIG = Config(model=MODELS)


def test_differences_are_listed_by_key() -> None:
    """F87: another seed or metric is seen, and where the run is kept is none."""
    changed = Config(
        model=MODELS,
        train=TrainSettings(seed=1),
        evaluation=EvaluationSettings(gate_metric="soft"),
        env=EnvSettings(out_root="/elsewhere"),
    )
    assert [str(difference) for difference in differences(CONFIG, changed)] == [
        "train.seed: 42 -> 1",
        "evaluation.gate_metric: 'hard' -> 'soft'",
    ]
    assert config_digest(CONFIG) != config_digest(changed)
    assert differences(CONFIG, CONFIG) == ()


def test_a_key_of_the_environment_that_only_one_has_is_a_difference() -> None:
    changed = Config(model=MODELS, env=EnvSettings.model_validate({"scorer": "f1"}))
    assert [str(difference) for difference in differences(CONFIG, changed)] == ["env.scorer: None -> 'f1'"]


def test_every_setting_is_written() -> None:
    assert flattened(CONFIG)["model", "target", "name"] == "a:c"
    assert flattened(CONFIG)["env", "fields"] == {}
    assert "lr_scheduler: cosine" in to_yaml(CONFIG)
