"""The tables of the settings."""

from __future__ import annotations

from pydantic import Field

from skillopt.config.env_settings import EnvSettings
from skillopt.config.model_settings import ModelSettings, RoleSettings
from skillopt.config.provenance import COMMAND_LINE, Provenance
from skillopt.config.schema import Config
from skillopt.config.table import resolved_table, settings_reference
from skillopt.environments.base import EnvironmentSettings


class Settings(EnvironmentSettings):
    tolerance: float = Field(0.0, ge=0.0)
    """How far off a number may be."""


def test_the_reference_has_a_row_for_every_setting() -> None:
    rows = {row.key: row for row in settings_reference()}
    batch = rows["train.batch_size"]
    assert (batch.type, batch.default, batch.range) == ("whole number", "40", "at least 1")
    assert batch.meaning.startswith("Training tasks of one batch")
    assert rows["model.optimizer|target.name"].default == ""
    assert rows["model.optimizer|target.price"].default == "null"
    assert rows["model.optimizer|target.price.input"].range == "at least 0"
    assert rows["evaluation.gate_metric"].type == "one of hard, soft, mixed"
    assert rows["env.fields"].default == "{}"
    assert all(row.meaning for row in rows.values())


def test_an_environment_has_its_own_reference() -> None:
    (row,) = settings_reference(Settings, prefix="env")
    assert (row.key, row.default, row.meaning) == ("env.tolerance", "0.0", "How far off a number may be.")


def test_the_resolved_table_shows_values_and_origins() -> None:
    """F79."""
    models = ModelSettings(
        optimizer=RoleSettings(name="a:b", api_key_env="MY_API_KEY"), target=RoleSettings(name="a:c")
    )
    config = Config(model=models, env=EnvSettings.model_validate({"tolerance": 0.5}))
    provenance = Provenance({("env",): COMMAND_LINE, ("env", "tolerance"): COMMAND_LINE})
    rows = {row.key: (row.value, str(row.origin)) for row in resolved_table(config, provenance)}
    assert rows["env.tolerance"] == ("0.5", "command line")
    assert rows["env.limit"] == ("0", "default")
    assert rows["model.optimizer.api_key_env"] == ('"MY_API_KEY"', "default")


def test_the_resolved_table_shows_the_defaults_of_the_environment() -> None:
    models = ModelSettings(optimizer=RoleSettings(name="a:b"), target=RoleSettings(name="a:c"))
    rows = resolved_table(Config(model=models), Provenance({}), environment=Settings())
    assert [(row.key, row.value) for row in rows if row.key.startswith("env.tol")] == [("env.tolerance", "0.0")]
