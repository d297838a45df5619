"""A configuration as text, and as one value for each key."""

from __future__ import annotations

from skillopt.config.dump import flattened, to_yaml
from skillopt.config.model_settings import ModelSettings, RoleSettings
from skillopt.config.schema import Config

MODELS = ModelSettings(optimizer=RoleSettings(name="a:b"), target=RoleSettings(name="a:c"))
CONFIG = Config(model=MODELS)


def test_every_setting_is_written() -> None:
    assert flattened(CONFIG)["model", "target", "name"] == "a:c"
    assert flattened(CONFIG)["env", "fields"] == {}
    assert "lr_scheduler: constant" in to_yaml(CONFIG)
